"""What manifest lists and snapshots announce of the files that they name, and whether it is there (S34).

Fewer live entries than announced make a manifest unreadable. More do not, and neither do fewer deleted ones: they cost
no live file, and some writers count wrongly. ClickHouse announces one added file in every manifest (and in format
version 1 all files of the table as existing); ``iceberg-rust`` of Jan Kaul announces deleted entries that it drops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.manifests import Manifest
from nessie_gc_core.model.text import plural

ADDED, DELETED = 1, 2
"""States of entries; the third one, of what existed before, is 0."""
_CREATED, _KEPT = "manifests-created", "manifests-kept"
_TOTALS = ("total-data-files", "total-delete-files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """How many entries a manifest list says that a manifest has, by their status; ``None``: it does not say."""

    added: int | None = None
    existing: int | None = None
    deleted: int | None = None

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """What its list says of a manifest."""
        return cls(added=manifest.added_files, existing=manifest.existing_files, deleted=manifest.deleted_files)

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """What :meth:`text` made."""
        found = [int(each) if each else None for each in (text or "//").split("/")]
        return cls(added=found[0], existing=found[1], deleted=found[2])

    def text(self) -> str | None:
        """The same as text, which travels with the manifest; ``None`` if nothing is said."""
        counts = (self.added, self.existing, self.deleted)
        return None if counts == (None, None, None) else "/".join("" if each is None else str(each) for each in counts)

    def check(self, path: str, statuses: Sequence[object], *, size: int, length: int | None) -> None:
        """Checks that a manifest has the entries that its list announces.

        A manifest that is shorter than its list says must have exactly these: Iceberg's ``rewrite_table_path`` (up to
        1.11) keeps the length of the file that it rewrites.

        Args:
            path: names the manifest in errors.
            statuses: of all its entries.
            size: how many bytes it has.
            length: how many it has as its list says; ``None``: it does not say.

        Raises:
            UnreadableFileError: it has not.
        """
        deleted = statuses.count(DELETED)
        live, announced = len(statuses) - deleted, (self.added or 0) + (self.existing or 0)
        if length is not None and size < length:
            is_exact = None not in (self.added, self.existing) and (live, deleted) == (announced, self.deleted)
            if not is_exact:
                has = plural(size, "byte")
                reason = f"it has {has} instead of the {length:,} written, and not the entries that its list counts"
                raise UnreadableFileError(path, reason)
        is_whole = size == length and self._is_only_added(statuses)
        if live < announced and not is_whole:
            reason = f"it has {live} live entries but its list counts {announced}; some are missing or damaged"
            raise UnreadableFileError(path, reason)

    def _is_only_added(self, statuses: Sequence[object]) -> bool:
        """Whether only entries that existed before are missing: all that are there were added.

        If the manifest has all of its bytes, there never were others: no damage to an entry makes an added one of it.
        """
        return bool(statuses) and len(statuses) == statuses.count(ADDED) >= (self.added or 0)


def manifests_announced(summary: Mapping[str, object]) -> str | None:
    """How many manifests the summary of a snapshot says that its list has at least, as text; ``None``: it does not.

    Newer versions of Iceberg's library count them in the list that they write. Totals of files only say whether there
    are any: they are added up from snapshot to snapshot, and stay wrong once a writer was wrong.
    """
    created, kept = (_number(summary.get(name)) for name in (_CREATED, _KEPT))
    if created is not None and kept is not None:
        return str(created + kept)
    return "1" if any(_number(summary.get(name)) for name in _TOTALS) else None


def _number(text: object) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() else None


def check_manifests(path: str, found: int, announced: str | None) -> None:
    """Checks that a manifest list names as many manifests as its snapshot says.

    Raises:
        UnreadableFileError: it does not.
    """
    if announced is not None and found < int(announced):
        reason = f"it names {found} manifests but its snapshot has at least {announced}; part of it is missing"
        raise UnreadableFileError(path, reason)
