"""The id of a live set as parameters name it, and the files that hold it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters


def chosen_live_set(parameters: SweepParameters | DeferredDeletionParameters) -> UUID:
    """The live set that a service works on.

    Raises:
        ConfigurationError: none is named, or two are, or what is named is no id.
    """
    text, file = parameters.live_set_id, parameters.read_live_set_id_from
    if text is not None and file is not None:
        raise ConfigurationError("`live_set_id` and `read_live_set_id_from` are mutually exclusive")
    if file is not None:
        return _read_id(Path(file))
    if text is None:
        raise ConfigurationError("the live set is missing; give `live_set_id` or `read_live_set_id_from`")
    try:
        return UUID(text)
    except ValueError as error:
        raise ConfigurationError(f"`live_set_id` {text[:60]!r} is not the id of a live set") from error


def _read_id(path: Path) -> UUID:
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline().strip()
        return UUID(line)
    except OSError as error:
        raise ConfigurationError(f"cannot read `read_live_set_id_from` {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"cannot read `read_live_set_id_from` {path}: it is not UTF-8 text") from error
    except ValueError as error:
        raise ConfigurationError(f"the first line of {path} is {line[:60]!r}, not the id of a live set") from error


def write_id(path: str | None, id_: UUID | None) -> None:
    """Writes the id of a live set to a file, or, before there is one, makes the file with its folders.

    Raises:
        NessieGcError: it cannot be made.
    """
    if path is None:
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("" if id_ is None else f"{id_}\n", encoding="utf-8")
    except OSError as error:
        raise NessieGcError(f"cannot write `write_live_set_id_to` {path}: {error.strerror or error}") from error
