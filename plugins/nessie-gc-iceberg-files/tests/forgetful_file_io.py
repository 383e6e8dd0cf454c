"""A FileIO that takes what is written, and keeps nothing of it, as file systems do that can only read."""

from __future__ import annotations

import io

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO


class Forgetful(PyArrowFile):
    def create(self, overwrite: bool = False) -> io.BytesIO:
        return io.BytesIO()


class ForgetfulFileIO(PyArrowFileIO):
    def new_output(self, location: str) -> PyArrowFile:
        made = super().new_output(location)
        return Forgetful(location, path=made._path, fs=made._filesystem)
