"""Where Nessie's runner jar comes from, and how it gets into our cache: verified, whole, once."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import maven
from nessie_gc_core.testing.servers.maven import Artifact, Fetch

NESSIE_VERSION = "0.99.0"
"""The server that is tested against."""
NESSIE_JAR_SHA256 = "ce9fa33e2878bf5ea3981876b9e6204cabc0362b3dd82326b10e47271a78c417"
"""Digest of the runner jar of that version."""
NESSIE_JAR_VARIABLE = "NESSIE_GC_NESSIE_JAR"
"""Environment variable that names a jar; any version, and its digest is not checked."""

_COORDINATES = f"org.projectnessie.nessie:nessie-quarkus:{NESSIE_VERSION}:runner"
_RUNNER = Artifact.parse(_COORDINATES)
_FILE_NAME = _RUNNER.file_name


def nessie_jar() -> Path:
    """The runner jar: the one that ``NESSIE_GC_NESSIE_JAR`` names, else the cached one, else fetched into the cache.

    Raises:
        ConfigurationError: it is not available; the message says what was tried.
    """
    named = os.environ.get(NESSIE_JAR_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ConfigurationError(f"{NESSIE_JAR_VARIABLE} names {named}, which is not a file; correct or unset it")
        return Path(named)
    return cached_nessie_jar(Path(platformdirs.user_cache_dir("nessie-gc")), SOURCES)


def cached_nessie_jar(
    cache: Path, sources: Mapping[str, Callable[[Path], Path | None]], *, sha256: str = NESSIE_JAR_SHA256
) -> Path:
    """The jar in a cache folder, fetched from the first source that has it.

    A source gets an empty folder and gives the path of a jar, or ``None`` if it has none.
    """
    target = cache / _FILE_NAME
    verified = cache / f"{_FILE_NAME}.{sha256[:16]}.verified"
    if _is_verified(target, verified):
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / f"{_FILE_NAME}.lock"):
        if _is_verified(target, verified):
            return target
        if not (target.is_file() and sha256_of(target) == sha256):
            _fetch(target, sources, sha256)
        verified.write_text(_fingerprint(target), encoding="utf-8")
    return target


def _fetch(target: Path, sources: Mapping[str, Callable[[Path], Path | None]], sha256: str) -> None:
    tried = []
    for name, fetch in sources.items():
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            found = fetch(Path(folder))
            if found is None:
                tried.append(f"{name}: nothing")
                continue
            partial = Path(folder) / f"{target.name}.partial"
            shutil.copyfile(found, partial)
            digest = sha256_of(partial)
            if digest == sha256:
                partial.replace(target)
                return
            tried.append(f"{name}: another file (SHA-256 {digest[:12]}…)")
    raise ConfigurationError(
        f"cannot get Nessie's server {_COORDINATES} ({'; '.join(tried)}); "
        f"download the jar and set {NESSIE_JAR_VARIABLE} to it"
    )


def _from(fetch: Fetch) -> Callable[[Path], Path | None]:
    def fetched(folder: Path) -> Path | None:
        fetch([_RUNNER], folder)
        jar = folder / _FILE_NAME
        return jar if jar.is_file() else None

    return fetched


SOURCES: dict[str, Callable[[Path], Path | None]] = {name: _from(fetch) for name, fetch in maven.SOURCES.items()}
"""Where the jar is looked for, in this order."""


def _is_verified(target: Path, verified: Path) -> bool:
    return target.is_file() and verified.is_file() and verified.read_text(encoding="utf-8") == _fingerprint(target)


def _fingerprint(path: Path) -> str:
    """Changes when the file does; saves reading 245 MB at every start."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def sha256_of(path: Path) -> str:
    """The digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until this process alone holds the lock file (two that fetch at once do no harm, only work)."""
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
