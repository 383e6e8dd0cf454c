"""A lister of tapes. Each tape is a tar file on a shelf; ``tape://NAME/path`` is a file on the tape NAME."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from nessie_gc_core import ConnectorOptions, hookimpl, option, options
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import ListingError
from nessie_gc_core.model import FileReference


@options
class TapeOptions(ConnectorOptions):
    """Where the tapes are."""

    shelf: str = option(".", help="folder with the tapes, one NAME.tar for each")


class TapeLister(FileLister):
    """Lists the files on a tape below a path. If a file was written twice, it lists the last one."""

    name = "tape"
    schemes = frozenset({"tape"})
    Options = TapeOptions

    def __init__(self, options: TapeOptions) -> None:
        super().__init__(options)
        self._shelf = Path(options.shelf)

    def list_files(self, location: str) -> Iterator[FileReference]:
        """All files below a location."""
        tape, _, folder = location.removeprefix("tape://").partition("/")
        try:
            with tarfile.open(self._shelf / f"{tape}.tar", "r:") as archive:
                files = {member.name: member for member in archive if member.isfile()}
                is_whole = _ends_in_zeros(archive)
        except (OSError, tarfile.TarError) as error:
            raise ListingError(f"cannot read the tape {tape!r} in {self._shelf}: {error}") from error
        if not is_whole:
            raise ListingError(f"the tape {tape!r} in {self._shelf} is truncated")
        for name, file in files.items():
            if name.startswith(folder):
                modified = datetime.fromtimestamp(file.mtime, UTC)
                yield FileReference(
                    location=location, path=name.removeprefix(folder), size=file.size, modified=modified
                )


def _ends_in_zeros(archive: tarfile.TarFile) -> bool:
    """Whether the last file is followed by the end of the tape, not by a missing or damaged piece."""
    assert archive.fileobj is not None
    archive.fileobj.seek(archive.offset)
    return archive.fileobj.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


@hookimpl
def nessie_gc_register_file_lister() -> type[TapeLister]:
    """Registers the lister."""
    return TapeLister
