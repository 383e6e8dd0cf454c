"""Writes whole files that are not there yet, by their raw paths."""

from __future__ import annotations

from nessie_gc_core.errors import NessieGcError, UnreadableFileError, UnwritableFileError
from nessie_gc_iceberg_files.places import place_of
from nessie_gc_iceberg_files.reading import FileReader
from nessie_gc_iceberg_files.stores import one_line


class FileWriter(FileReader):
    """Reads files, and writes new ones the same way: through our own stores, or through a FileIO."""

    def create(self, path: str, data: bytes) -> None:
        """Writes a new file; refuses to overwrite one, if the store can tell that it exists.

        The file is read back: a table is lost if the metadata that it names does not exist, and some file systems
        fail to write silently.

        Raises:
            UnwritableFileError: it already exists, cannot be written, or reads back differently.
            ConfigurationError: the scheme's library is not installed, or a property is wrong.
        """
        try:
            place = place_of(path)
            refusal = self._refusal(path, place)
            if refusal is not None:
                raise UnwritableFileError(path, refusal)
            if self._is_through_file_io(place):
                with self._opened_file_io(path).new_output(path).create(overwrite=False) as stream:
                    stream.write(data)
            else:
                self._stores.of(place).create(place.key, data)
            if self.read(path) != data:
                raise UnwritableFileError(path, "the stored content differs from what was written")
        except UnreadableFileError as error:
            raise UnwritableFileError(path, f"after it was written, {error.reason}") from error
        except NessieGcError:
            raise
        except FileExistsError as error:
            raise UnwritableFileError(path, "it already exists") from error
        except Exception as error:  # whatever a FileIO raises means the same: not written
            raise UnwritableFileError(path, one_line(error) or type(error).__name__) from error
