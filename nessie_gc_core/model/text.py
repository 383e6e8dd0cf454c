"""Text for people and for JSON: data made fit to be seen (S28), and sizes, times and durations in one form each.

No control character of data reaches a terminal or a log. Nothing else formats a size, a time or a duration.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from typing import overload

from isodate import duration_isoformat

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.times import in_zone

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters (escape sequences, changes of direction), half surrogates, ends of lines."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PASSWORD = re.compile(r"(?<=://)[^/\s:@'\"]*:(?!\d*[/?'\"\s]|\d*$)[^\s'\"]*@")
"""User and password before the host of a URL, whatever the password is made of; not a port, with an ``@`` behind it."""
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_zone: ContextVar[tzinfo | None] = ContextVar("zone", default=None)
"""The zone of whoever reads the times; ``None``: that of the machine."""
_FAULTS = (LookupError, AttributeError, TypeError, NameError, AssertionError, ArithmeticError, RecursionError)
"""Errors of Python whose texts say little without their names."""
_IN_JSON = re.compile(r"[^\x20-\x7e\n]")


def shown(text: str, *, lines: bool = False) -> str:
    """The text with every character escaped that a terminal, or a reader of lines, would act upon.

    The result is for people: a backslash in the text stays as it is. Exact names stand in JSON output.

    Args:
        text: what to show; an odd path, for instance.
        lines: whether ends of lines and tabs stay, as in a traceback.
    """
    if text.isprintable():
        return text
    return "".join(character if lines and character in "\n\t" else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON that can be printed: what is unsafe is written as JSON escapes, so nothing is lost."""
    return _IN_JSON.sub(_json_escape, json.dumps(value, ensure_ascii=False, indent=indent))


def _json_escape(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def one_line(error: BaseException) -> str:
    """An error as one line, without passwords; one that nobody raises on purpose begins with its type."""
    name, said = type(error).__name__, str(error).strip()
    if isinstance(error, _FAULTS) and not isinstance(error, NessieGcError):
        said = f"{name}: {said}" if said else name
    return without_passwords((said or name).splitlines()[0])


def without_passwords(text: str) -> str:
    """The text without user and password of the URLs in it: libraries quote the one that they could not reach."""
    return _PASSWORD.sub("***@", text)


def plural(count: int | None, noun: str) -> str:
    """A count with its noun, such as ``1 file`` or ``2,000 files``; ``None``: the count is not known."""
    if count is None:
        return f"an unknown number of {noun}s"
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


# ---- sizes, times and durations -----------------------------------------------------------------------
def size_text(size: int) -> str:
    """A size for people, in binary units: ``7.5 MiB``, ``1,023 B``.

    Where two lengths are compared, or the exact one is the news, ``plural(size, "byte")`` has every digit.
    """
    if abs(size) < 1024:
        return f"{size:,} B"
    factor, unit = size_unit(abs(size))
    return f"{size / factor:,.1f} {unit}"


def size_unit(most: int) -> tuple[int, str]:
    """The unit in which sizes up to ``most`` are shown: its bytes, and its name."""
    power = 0
    while most >= 1024 ** (power + 1) - 1024**power // 20 and power < len(_SIZES) - 1:  # 1,023.95 and more round up
        power += 1
    return 1024**power, _SIZES[power]


@contextmanager
def times_in(zone: tzinfo | None) -> Iterator[None]:
    """Times for people are in this zone meanwhile (``None``: as before)."""
    token = _zone.set(zone or _zone.get())
    try:
        yield
    finally:
        _zone.reset(token)


def time_text(time: datetime | None, zone: tzinfo | None = None) -> str:
    """A time for people: whole seconds with their offset, ``2026-01-31 14:05:00+01:00``; ``None``: empty.

    Args:
        time: an aware time.
        zone: of whoever reads it (default: that of :func:`times_in`, else that of the machine).
    """
    return "" if time is None else in_zone(time, zone or _zone.get()).isoformat(sep=" ", timespec="seconds")


@overload
def json_time(time: datetime) -> str: ...
@overload
def json_time(time: None) -> None: ...
@overload
def json_time(time: datetime | None) -> str | None: ...
def json_time(time: datetime | None) -> str | None:
    """A time in JSON and files: ISO 8601, UTC, ``2026-01-31T13:05:00Z``; ``None`` as it is."""
    return None if time is None else in_zone(time, UTC).isoformat().replace("+00:00", "Z")


def duration_text(time: timedelta | float | None) -> str:
    """A duration for people: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``, ``7 d``; ``None``: empty.

    Args:
        time: the duration; a number is seconds.
    """
    if time is None:
        return ""
    seconds = time.total_seconds() if isinstance(time, timedelta) else float(time)
    if seconds < 0:
        return f"-{duration_text(-seconds)}"
    if round(seconds, 1) < 60:
        text = f"{seconds:.{1 if seconds >= 0.1 else 2}f}"
        return f"{text.rstrip('0').rstrip('.')} s"
    left = round(seconds)
    for larger, smaller, most in ((60, 1, 3600), (3600, 60, 86_400), (86_400, 3600, None)):
        if most is None or left < most:
            names = {1: "s", 60: "min", 3600: "h", 86_400: "d"}
            first, rest = left // larger, left % larger // smaller
            return f"{first:,} {names[larger]}" + (f" {rest} {names[smaller]}" if rest else "")
    raise AssertionError


def iso_duration(time: timedelta) -> str:
    """A duration as options and JSON have it: ISO 8601, ``P7D``."""
    return str(duration_isoformat(time))
