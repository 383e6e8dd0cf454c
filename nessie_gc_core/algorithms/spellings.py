"""Under which canonical paths one place may be known: by aliases, links, mounts and percent signs (S24)."""

from __future__ import annotations

from collections.abc import Iterator

from nessie_gc_core.algorithms.disk import FILE, decoded, real_place
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.mounts import Mounts

_MOST = 100
"""With more spellings of one place, something is wrong with the aliases."""


class Spellings:
    """Follows aliases, links, mounts and encoded characters from a canonical path; each only ever adds a spelling."""

    def __init__(self, rules: LocationRules, *, uris: bool = True) -> None:
        """Takes the rules, and whether local paths may be URIs, as in metadata; else they are as they are stored."""
        self._rules = rules
        self._uris = uris
        self._mounts = Mounts.read()

    def of(self, canonical: str) -> tuple[str, ...]:
        """All spellings, the path itself first.

        Raises:
            UnknownLocationError: one of them cannot be resolved, or there is no end of them.
        """
        found = {canonical: None}
        waiting = [canonical]
        while waiting:
            for other in self._next(waiting.pop()):
                if other not in found:
                    found[other] = None
                    waiting.append(other)
            if len(found) > _MOST:
                raise UnknownLocationError(f"the aliases of {canonical!r} never end; correct `path_alias`")
        return tuple(found)

    def place(self, canonical: str) -> str:
        """The one under which a place is compared: no alias, link or mount leads further.

        Raises:
            UnknownLocationError: as for :meth:`of`.
        """
        passed = {canonical}
        while True:
            further = self._rules.aliased(canonical)
            if further == canonical and canonical.startswith(FILE):
                further = real_place(canonical, self._mounts)
            if further == canonical:
                return canonical
            if further in passed:
                raise UnknownLocationError(f"the aliases of {canonical!r} form a cycle; correct `path_alias`")
            passed.add(further)
            canonical = further

    def prefix_or_none(self, raw: str) -> str | None:
        """:meth:`place` of a raw location, with a slash at its end; ``None`` if it cannot be compared."""
        try:
            return self.place(self._rules.canonical_prefix(raw))
        except UnknownLocationError:
            return None

    def on_disk(self, canonical: str) -> str:
        """What a local path is without links and mounts.

        Raises:
            UnknownLocationError: it cannot be resolved.
        """
        return real_place(canonical, self._mounts)

    def _next(self, canonical: str) -> Iterator[str]:
        yield from self._rules.all_aliased(canonical)
        if canonical.startswith(FILE):
            yield real_place(canonical, self._mounts)
            yield from decoded(canonical) if self._uris else ()
