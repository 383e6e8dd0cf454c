"""Programs of many jars, each pinned by its digest: fetched into our cache once."""

from __future__ import annotations

import importlib.resources
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.jar import locked, sha256_of
from nessie_gc_core.testing.servers.maven import SOURCES, Artifact, Fetch


def class_path(program: str) -> str:
    """The jars of a program, as Java takes them; ``program`` is the name of a ``.jars`` file beside this module.

    Raises:
        ConfigurationError: one of them is not available; the message names it.
    """
    listed = importlib.resources.files(__package__).joinpath(f"{program}.jars").read_text(encoding="utf-8")
    folder = Path(platformdirs.user_cache_dir("nessie-gc")) / "jars" / program
    return f"{cached_jars(pinned(listed), folder, SOURCES)}/*"


def pinned(listed: str) -> dict[Artifact, str]:
    """Jars and their SHA-256, of lines with both: ``group:name:version[:classifier] digest``."""
    lines = (line.split() for line in listed.splitlines() if line.strip())
    return {Artifact.parse(coordinates): digest for coordinates, digest in lines}


def cached_jars(jars: Mapping[Artifact, str], folder: Path, sources: Mapping[str, Fetch]) -> Path:
    """A folder with exactly these jars: what is missing there is fetched from the first source that has it.

    Raises:
        ConfigurationError: no source has one of them.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        folder.mkdir(exist_ok=True)
        for stranger in {path.name for path in folder.iterdir()} - {jar.file_name for jar in jars}:
            (folder / stranger).unlink()
        missing = {jar: digest for jar, digest in jars.items() if not _is(folder / jar.file_name, digest)}
        for fetch in sources.values():
            missing = _fetch(missing, folder, fetch) if missing else missing
    if missing:
        names = ", ".join(f"{jar.group}:{jar.name}:{jar.version}" for jar in missing)
        raise ConfigurationError(f"cannot get jars from {', '.join(sources)}: {names}; install Maven or pyspark")
    return folder


def _fetch(missing: Mapping[Artifact, str], folder: Path, fetch: Fetch) -> dict[Artifact, str]:
    """Takes what a source has, and gives what is missing still."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as place:
        fetch(list(missing), Path(place))
        for jar, digest in missing.items():
            found = Path(place) / jar.file_name
            if _is(found, digest):
                found.replace(folder / jar.file_name)
    return {jar: digest for jar, digest in missing.items() if not (folder / jar.file_name).is_file()}


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_of(path) == digest
