"""Whether the archives of a release agree: ``python release.py dist [TAG]``."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(dist: Path, tag: str | None = None) -> Iterator[str]:
    """What keeps these archives from being a release; a tag asks for a section of the changelog as well."""
    metadata = {wheel.name: _metadata(wheel) for wheel in sorted(dist.glob("*.whl"))}
    versions = {str(found["Version"]) for found in metadata.values()}
    if len(versions) != 1:
        yield f"{dist} has the versions {sorted(versions)}, not one"
        return
    (version,) = versions
    names = {str(found["Name"]) for found in metadata.values()}
    expected = {"nessie-gc-core", *(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))}
    if names != expected:
        yield f"{dist} has wheels of {sorted(names)}, not of {sorted(expected)}"
    for wheel, found in metadata.items():
        source = f"{found['Name'].replace('-', '_')}-{version}.tar.gz"
        if not (dist / source).exists():
            yield f"{dist} has no {source}"
        if "LICENSE" not in found.get_all("License-File", []):
            yield f"{wheel} has no LICENSE"
        required = {need.partition(";")[0].strip() for need in found.get_all("Requires-Dist", [])}  # also by an extra
        if found["Name"] != "nessie-gc-core" and f"nessie-gc-core~={version}" not in required:
            yield f"{wheel} does not require nessie-gc-core~={version}"
    if tag is not None:
        yield from _problems_of(tag, version, (ROOT / "CHANGELOG.md").read_text())


def _problems_of(tag: str, version: str, changelog: str) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"the tag is {tag}, the version is {version}"
    if not re.search(rf"^## {re.escape(version)} \(", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no section {version}: run towncrier build --version {version}"


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def main(arguments: Sequence[str]) -> str | None:
    """Checks what the arguments name."""
    found = list(problems(Path(arguments[0]), *arguments[1:2]))
    return "\n".join(found) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
