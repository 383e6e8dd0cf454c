"""A FileIO of a user's own, for a scheme that fsspec knows too."""

from __future__ import annotations

from pyiceberg.io.fsspec import FsspecFileIO, FsspecInputFile


class TosFileIO(FsspecFileIO):
    def new_input(self, location: str) -> FsspecInputFile:
        return super().new_input(location.replace("tos://lake/t/", f"file://{self.properties['tos.folder']}/"))
