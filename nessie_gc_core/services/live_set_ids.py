"""The id of a live set as parameters name it, and the files that hold it."""

from __future__ import annotations

import string
from pathlib import Path
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import ConfigurationError, LiveSetNotFoundError, NessieGcError
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters

SHORTEST = 4
"""The minimum number of characters of an id that name a live set."""
_CANDIDATES = 5
"""So many ids an error names."""


def find_live_set(store: LiveSetStore, live_set_id: UUID | str) -> UUID:
    """The id of a live set from its text or the beginning of it.

    Args:
        store: asked where the text is not a whole id; whether there is a live set with a whole one is not asked.
        live_set_id: an id, or its first characters, at least :data:`SHORTEST`, which no other id begins with.

    Raises:
        ConfigurationError: it cannot be an id, or several ids begin with it; the message names them.
        LiveSetNotFoundError: no id begins with it.
    """
    if isinstance(live_set_id, UUID):
        return live_set_id
    text = check_id(live_set_id, repr(live_set_id[:60]))
    try:
        return UUID(text)
    except ValueError:
        pass
    digits = text.replace("-", "").lower()
    found = sorted(str(each.id) for each in store.live_sets() if each.id.hex.startswith(digits))
    if not found:
        raise LiveSetNotFoundError(f"the id of no live set begins with {text!r}; {next_call('list')} shows them")
    if len(found) > 1:
        more = f" and {len(found) - _CANDIDATES} more" if len(found) > _CANDIDATES else ""
        names = ", ".join(found[:_CANDIDATES]) + more
        raise ConfigurationError(f"the ids of {len(found)} live sets begin with {text!r}: {names}; give more of the id")
    return UUID(found[0])


def check_id(text: str, said: str) -> str:
    """Refuses a text that neither is an id nor can begin one; ``said`` is what the error calls it.

    Raises:
        ConfigurationError: it is neither.
    """
    digits = text.replace("-", "")
    if SHORTEST <= len(digits) <= 32 and all(digit in string.hexdigits for digit in digits):
        return text
    raise ConfigurationError(
        f"{said} is neither the id of a live set nor the first {SHORTEST} or more characters of one"
    )


def chosen_live_set(parameters: SweepParameters | DeferredDeletionParameters) -> str:
    """The live set that a service works on: its id, or the beginning of it.

    Raises:
        ConfigurationError: none is named, or two are, or what is named is not an id.
    """
    text, file = parameters.live_set_id, parameters.read_live_set_id_from
    if text is not None and file is not None:
        raise ConfigurationError("`live_set_id` and `read_live_set_id_from` are mutually exclusive")
    if file is not None:
        return _read_id(Path(file))
    if text is None:
        raise ConfigurationError("the live set is missing; give `live_set_id` or `read_live_set_id_from`")
    return check_id(text, f"`live_set_id` {text[:60]!r}")


def _read_id(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline().strip()
    except OSError as error:
        raise ConfigurationError(f"cannot read `read_live_set_id_from` {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"cannot read `read_live_set_id_from` {path}: it is not UTF-8 text") from error
    return check_id(line, f"the first line of {path}, {line[:60]!r},")


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
