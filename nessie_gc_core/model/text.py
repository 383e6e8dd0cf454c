"""Text that came from data, made fit to be seen: no control character reaches a terminal or a log (S28)."""

from __future__ import annotations

import json
import re
import unicodedata

from nessie_gc_core.errors import NessieGcError

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters (escape sequences, changes of direction), half surrogates, ends of lines."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PASSWORD = re.compile(r"(?<=://)[^/\s:@'\"]*:(?!\d*[/?'\"\s]|\d*$)[^\s'\"]*@")
"""User and password before the host of a URL, whatever the password is made of; not a port, with an ``@`` behind it."""
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
