"""The names that plugins know in an option of pairs: tells a misspelt one from one that other code reads (S27)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """What an option of pairs declares with ``secret_mapping(known=...)``.

    The names of all installed connectors count together. One edit away from a known name, or the same in other case
    or with other separators, an unknown one is an error. Any other one that begins like a known one, up to the first
    dot, is a warning, because a class of the user's own may read it; the rest is passed on silently.
    """

    names: frozenset[str]
    """The names, as they are written."""
    beginnings: tuple[str, ...] = ()
    """How families of names begin, with the dot at the end: whatever follows is known, such as ``header.``."""
    more: Callable[[], Iterable[str]] | None = None
    """Gives more names; only called for a name that is not among these, since it may import a library."""
    classes: Mapping[str, str] = field(default_factory=dict)
    """Names whose value is a class that reads the others, with how the classes begin that read none but these.

    With another class an unknown name is never an error.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulName:
    """A name that no plugin knows, and that is probably not what was meant."""

    name: str
    near: str | None
    """The known name that it is close to."""
    is_error: bool

    def __str__(self) -> str:
        if self.is_error:
            return f"unknown property {self.name!r}; did you mean {self.near!r}?"
        if self.near is not None:
            return f"no installed plugin knows the property {self.name!r}; did you mean {self.near!r}?"
        return (
            f"no installed plugin knows the property {self.name!r}: it has no effect "
            "unless a class of your own reads it"
        )


def doubtful_names(given: Mapping[str, str], known: Iterable[KnownNames]) -> Iterator[DoubtfulName]:
    """The names that are misspelt, or may be.

    Args:
        given: the pairs of an option; of their values only those that name a class are looked at.
        known: what connectors declare; nothing is doubtful if none does.
    """
    parts = list(known)
    beginnings = tuple({beginning for part in parts for beginning in part.beginnings})
    names = {name for part in parts for name in part.names}
    strange = [name for name in given if name not in names and not name.startswith(beginnings)]
    if not strange or not parts:
        return
    names.update(name for part in parts if part.more is not None for name in part.more())
    prefixes = {_plain(name.partition(".")[0]) for name in (*names, *beginnings) if "." in name}
    is_foreign = any(
        not given[name].startswith(own) for part in parts for name, own in part.classes.items() if name in given
    )
    for name in strange:
        prefix, dot, _ = name.partition(".")
        near, is_ours = _nearest(name, names, beginnings), _plain(prefix) in prefixes
        if name not in names and (near is not None or (dot and is_ours)):
            is_error = near is not None and (is_ours or not dot) and not is_foreign
            yield DoubtfulName(name=name, near=near, is_error=is_error)


def _nearest(name: str, names: Iterable[str], beginnings: Collection[str]) -> str | None:
    """A known name that is close to a name, or the name with a beginning that is close to its own."""
    plain = _plain(name)
    near = [each for each in names if _is_near(plain, _plain(each))]
    if near:
        return min(near, key=lambda each: (_plain(each) != plain, each))
    for beginning in sorted(beginnings):
        elements = name.split(".")
        head, tail = elements[: beginning.count(".")], elements[beginning.count(".") :]
        if tail and _is_near(_plain(".".join(head)), _plain(beginning.removesuffix("."))):
            return beginning + ".".join(tail)
    return None


def _plain(name: str) -> str:
    """A name without what differs between its spellings."""
    return name.strip().casefold().replace("_", "-").replace(".", "-")


def _is_near(one: str, other: str) -> bool:
    """Whether a character was added, left out or replaced, or two that follow each other changed places, at most."""
    start = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return abs(len(one) - len(other)) <= 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
