"""The relations between the phases of a run: names, types, units; the same on every engine.

Each is a stream of Arrow record batches with one of these schemas. Paths are raw text exactly as metadata or
a listing gave them; ``unit`` and ``key`` are canonical (:mod:`nessie_gc_core.model.locations`).
Times are microseconds since the epoch (UTC, int64); :data:`UNKNOWN_TIME` where a store gives none.
Sizes are bytes; 0 where unknown.
"""

from __future__ import annotations

import pyarrow as pa

UNKNOWN_TIME = 2**63 - 1
"""Stands for an unknown modification time: later than everything, so such a file is always too young (S8)."""

CONTENT_VERSIONS = pa.schema(
    [
        pa.field("content_id", pa.string(), nullable=False),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("metadata_location", pa.string()),
        pa.field("snapshot_id", pa.int64()),
        pa.field("content_key", pa.string(), nullable=False),
        pa.field("commit_id", pa.string(), nullable=False),
        pa.field("commit_time", pa.int64()),
        pa.field("location", pa.string()),
    ]
)
"""Live content versions, distinct by the first four columns and the location. Written by mark, read by expand."""

VERSION_FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("length", pa.int64()),
        pa.field("location", pa.string()),
        pa.field("content_id", pa.string(), nullable=False),
        pa.field("problem", pa.string()),
        pa.field("missing", pa.bool_()),
        pa.field("shared", pa.bool_(), nullable=False),
        pa.field("announced", pa.string()),
    ]
)
"""What content versions expand to: one row per file, with its least length and the content's raw base location.

In a row that is ``shared`` the location is another place that the content writes to, which may be others' as well.
A row of kind :data:`PROBLEM` names a file that could not be read, why, and whether it is not there at all.
"""

NAMED_FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("length", pa.int64()),
        pa.field("announced", pa.string()),
    ]
)
"""What one file names: raw paths, kinds, and of each its length and what is in it, if the file tells it.

``announced`` is in the words of the reader (:attr:`ReachableFile.announced`), which gets it back with the file.
"""

EXPANDED_FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("length", pa.int64()),
        pa.field("unit", pa.string()),
        pa.field("key", pa.string()),
        pa.field("problem", pa.string()),
        pa.field("announced", pa.string()),
    ]
)
"""All reachable files: raw path, kind, reader's content type, and their key where they lie inside a sweep unit.

A path that may mean more than one place has one more row, of kind :data:`SPELLING`, for each of them. Rows of kind
:data:`PROBLEM` as above; ``key`` is then the file's own kind where nothing but its place is unknown.
"""

PROBLEM = "PROBLEM"
"""Kind of the rows that name a file that could not be read."""
SPELLING = "SPELLING"
"""Kind of the rows that give another possible place of a file: behind a link, or under a cleaned key (S24)."""
REACHED = "REACHED"
"""Kind of the rows that stand for no file: files in the place ``key`` name files in the place ``path`` (S31).

Both are canonical prefixes; ``length`` is 1 where some of the files that are named there may name others, else 0.
"""

PARENTS = pa.schema(
    [
        pa.field("parent", pa.string(), nullable=False),
        pa.field("content_id", pa.string()),
    ]
)
"""Which files (or content versions, then with their content id) name one of some given files."""

FILE_KEYS = pa.schema([pa.field("unit", pa.string(), nullable=False), pa.field("key", pa.string(), nullable=False)])
"""Files by sweep unit (its canonical root) and raw key below it."""

REACHABLE_FILES = pa.schema([*FILE_KEYS, pa.field("path", pa.string(), nullable=False)])
"""Reachable files inside sweep units, with their raw path."""

LISTING_TASKS = pa.schema(
    [
        pa.field("unit", pa.string(), nullable=False),
        pa.field("location", pa.string(), nullable=False),
        pa.field("prefix", pa.string(), nullable=False),
        pa.field("part", pa.string()),
    ]
)
"""What is to be listed: a raw location, its key below the unit's root, and the part of it (null: all)."""

LISTED_FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("modified", pa.int64()),
    ]
)
"""What a listing of one location returns: raw paths below it, sizes and times of the last modification, if known."""

CANDIDATES = pa.schema(
    [
        *FILE_KEYS,
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("sidecar_path", pa.string()),
        pa.field("sidecar_size", pa.int64(), nullable=False),
    ]
)
"""Stored files that nothing live reaches; ``location`` + ``path`` is where the lister found each.

A checksum sidecar ``.name.crc`` shares the key of ``name`` and is one row with it; ``path`` is null where the
sidecar is alone.
"""

STORED_FILES = pa.schema(
    [
        *CANDIDATES,
        pa.field("sidecar", pa.bool_(), nullable=False),
        pa.field("owner", pa.string()),
        pa.field("problem", pa.string()),
        pa.field("left_alone", pa.int64(), nullable=False),
        pa.field("mark", pa.string()),
    ]
)
"""Listed files, with a file and its sidecar still as two rows; ``owner`` is the key of the file whose sidecar a row is.

A row with ``left_alone`` 1 (else 0) stands for a name that is not one of our files, such as a link to a folder. A row
with a ``problem`` stands for a unit whose listing failed or cannot be trusted; its other columns are empty. A ``mark``
says what else uses the folder, by the name of this file (S32).
"""

VERDICTS = pa.schema(
    [
        *CANDIDATES,
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("sidecar_only", pa.bool_(), nullable=False),
    ]
)
"""Candidates after the guard.

``verdict`` is one of UNREFERENCED, TOO_YOUNG, SPARED; ``bucket`` a stable hash of the key, by which a sweep is cut
into steps; ``sidecar_only`` marks a sidecar whose file is gone, which does not count as a file.
"""

OUTCOMES = pa.schema(
    [
        pa.field("unit", pa.string(), nullable=False),
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("sidecar", pa.bool_(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)
"""One row per unreferenced file (and per sidecar, counted separately) with its outcome.

``outcome`` is one of deleted, already_gone, failed, spared, too_young, deferred, would_delete.
"""
