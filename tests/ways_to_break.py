"""Ways to break one table of a lake, and what a collection does then: the rows of a page of the documentation."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import fastavro
import zstandard
from broken_lakes import LAKES, BrokenLake, NessieLake, RestLake
from damaged_tables import with_records

from nessie_gc_core.testing.servers.handing_on import Answer

_BOMB_BYTES = 64 << 20
_LEVELS = 100_000
ODD_PLACE = "floppy://drive/a/b"
"""A place with a scheme that nobody knows."""
_DENIED = Answer(403, [("Content-Type", "application/xml")], b"<Error><Code>AccessDenied</Code></Error>")


class Effect(Enum):
    """What a run does; the value is the word of the page."""

    COLLECTED = "collected"
    FROZEN_ALONE = "frozen alone"
    FROZEN = "frozen"
    STOPS = "stops"
    LEFT = "left alone"
    NEVER = "-"
    """It cannot happen there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is deleted, and the exit code."""

    own: bool
    """Whether the garbage of the broken table goes."""
    others: bool
    """Whether that of the other tables goes."""
    exit_code: int


_ALL = Expected(own=True, others=True, exit_code=0)
_OTHERS = Expected(own=False, others=True, exit_code=0)
_OTHERS_1 = Expected(own=False, others=True, exit_code=1)
_NOTHING = Expected(own=False, others=False, exit_code=1)
FIRST: Mapping[Effect, Expected] = {
    Effect.COLLECTED: _ALL,
    Effect.FROZEN_ALONE: _OTHERS_1,
    Effect.FROZEN: _NOTHING,
    Effect.STOPS: _NOTHING,
    Effect.LEFT: _OTHERS,
}
"""Of a run where no earlier one has read the table."""
LATER = {**FIRST, Effect.FROZEN: _OTHERS_1}
"""Of one where it has been read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One of them."""

    title: str
    """As the page has it."""
    breaks: Callable[[BrokenLake], object]
    effect: Effect
    elsewhere: Mapping[str, Effect] = field(default_factory=dict)
    """The effect in some catalogs, if it is another one there."""
    before: Callable[[BrokenLake], object] | None = None
    """What makes of the table what can be broken so."""
    leaves_others: bool = False
    """Whether its own places hold those of the others, so that all of them stay once it is set aside."""

    def effect_in(self, catalog: str) -> Effect:
        """What happens there."""
        return self.elsewhere.get(catalog, self.effect)

    def can_happen_in(self, catalog: str) -> bool:
        """Whether there is such a thing."""
        return self.effect_in(catalog) is not Effect.NEVER

    @property
    def set_aside(self) -> Expected:
        """What is deleted where the table is set aside, whether or not it was read before."""
        return replace(_OTHERS, others=not self.leaves_others)


def rows() -> list[tuple[str, ...]]:
    """The table of the page: a head, then each way with its effects."""
    found = [(way.title, *(way.effect_in(catalog).value for catalog in LAKES)) for way in WAYS]
    return [("one table is broken like this", *LAKES), *found]


# ---- how ------------------------------------------------------------------------------------------------
def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _field(**changes: Any) -> Callable[[BrokenLake], object]:
    return lambda lake: lake.change_fields(lambda fields: fields.update(changes))


def _cut_compressed(lake: BrokenLake) -> None:
    packed = _half(gzip.compress(lake.kind.read(lake.broken.metadata)))
    lake.replace_metadata(packed, suffix=".gz.metadata.json")


def _metadata_bomb(lake: BrokenLake) -> None:
    lake.replace_metadata(zstandard.compress(b" " * _BOMB_BYTES), suffix=".zstd.metadata.json")


def _compressed(lake: BrokenLake) -> None:
    plain = lake.kind.read(lake.broken.metadata)
    lake.replace_metadata(zstandard.compress(plain), suffix=".zstd.metadata.json", told=plain)


def _microseconds(fields: dict[str, Any]) -> None:
    for each in fields["snapshots"] + fields["snapshot-log"] + fields["metadata-log"]:
        each["timestamp-ms"] *= 1000
    fields["last-updated-ms"] *= 1000


def _other_metadata(lake: BrokenLake) -> None:
    """Its catalog names metadata at a place of which nobody can tell what it is."""
    place = f"{ODD_PLACE}/metadata/1.metadata.json"
    if isinstance(lake, RestLake):
        lake.answer(500, b"{}")
    else:
        lake.point(place)


def _unplaced(lake: BrokenLake) -> None:
    if isinstance(lake, RestLake):
        lake.answer(200, json.dumps({"config": {}}).encode())
    else:
        lake.point(None)


def _wrong_bit(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[data.index(data[-16:]) + 22] ^= 4  # in the block, behind its length
    return bytes(changed)


def _manifest_bomb(data: bytes) -> bytes:
    """A manifest with one block, which unpacks to much more than any manifest."""
    reader = fastavro.reader(io.BytesIO(data))
    assert reader.writer_schema is not None
    kept = {name: value for name, value in reader.metadata.items() if not name.startswith("avro.")}
    out = io.BytesIO()
    fastavro.writer(out, reader.writer_schema, [], codec="zstandard", metadata=kept)
    empty, block = out.getvalue(), zstandard.compress(bytes(16 * _BOMB_BYTES))
    return empty + _long(1) + _long(len(block)) + block + empty[-16:]


def _long(number: int) -> bytes:
    """A positive number as Avro writes it."""
    rest, out = number << 1, bytearray()
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest])


def _all_files(lake: BrokenLake) -> None:
    for path in lake.kind.files_in(lake.broken.location):
        lake.kind.remove(path)


def _denied(lake: BrokenLake) -> None:
    assert lake.store is not None
    lake.store.spoiled[lake.broken.metadata.removeprefix(lake.root)] = _DENIED


def _as_view(lake: BrokenLake) -> None:
    """The table becomes a view."""
    version = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": ["db"]}
    representation = {"type": "sql", "sql": "select 1", "dialect": "spark"}
    fields = {
        "view-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "format-version": 1,
        "location": lake.broken.location,
        "current-version-id": 1,
        "versions": [{**version, "representations": [representation]}],
        "version-log": [{"timestamp-ms": 1, "version-id": 1}],
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "properties": {},
    }
    place = _view_of(lake)
    lake.kind.write(place, json.dumps(fields).encode())
    lake.point(place, view=True)


def _view_of(lake: BrokenLake) -> str:
    return f"{lake.broken.location}/metadata/00000-view.metadata.json"


def _delta(lake: BrokenLake) -> None:
    assert isinstance(lake, NessieLake)
    lists: dict[str, Any] = {"metadataLocationHistory": [], "checkpointLocationHistory": [], "lastCheckpoint": None}
    lake.replace({"type": "DELTA_LAKE_TABLE", **lists})


def _answer(status: int, body: bytes) -> Callable[[BrokenLake], object]:
    def answer(lake: BrokenLake) -> None:
        assert isinstance(lake, RestLake)
        lake.answer(status, body)

    return answer


def _beside(path: str, data: bytes) -> Callable[[BrokenLake], object]:
    return lambda lake: lake.kind.write(f"{lake.broken.location}/{path}", data)


def _rewritten(file: str, change: Callable[[bytes], bytes]) -> Callable[[BrokenLake], object]:
    return lambda lake: lake.rewrite(getattr(lake.broken, file), change)


def _removed(file: str) -> Callable[[BrokenLake], object]:
    return lambda lake: lake.kind.remove(getattr(lake.broken, file))


def _metadata(data: bytes) -> Callable[[BrokenLake], object]:
    return lambda lake: lake.replace_metadata(data)


_BY_NAME = {"REST": Effect.FROZEN, "Nessie": Effect.FROZEN}
_ONLY_REST = dict.fromkeys(sorted(LAKES.keys() - {"REST"}), Effect.NEVER)
_ONLY_NESSIE = dict.fromkeys(sorted(LAKES.keys() - {"Nessie"}), Effect.NEVER)
_NOWHERE = {"SQL": Effect.FROZEN_ALONE, "Nessie": Effect.NEVER}
_NEWER = json.dumps({"format-version": 2}).encode()


def _hinted(lake: BrokenLake) -> None:
    _beside("metadata/v99.metadata.json", _NEWER)(lake)
    _beside("metadata/version-hint.text", b"99")(lake)


def _way(title: str, effect: Effect, breaks: Callable[[BrokenLake], object], **more: Any) -> Way:
    return Way(title=title, effect=effect, breaks=breaks, **more)


WAYS = (
    _way("its metadata file is gone", Effect.FROZEN, _removed("metadata")),
    _way("its metadata file is empty", Effect.FROZEN, _metadata(b"")),
    _way("its metadata file is cut off", Effect.FROZEN, _metadata(b'{"format-version": 2, "loca')),
    _way("its compressed metadata file is cut off", Effect.FROZEN, _cut_compressed),
    _way("its compressed metadata file is a bomb", Effect.FROZEN, _metadata_bomb),
    _way("its metadata is nested too deeply", Effect.FROZEN, _metadata(b"[" * _LEVELS)),
    _way("its metadata may not be read", Effect.FROZEN, _denied, elsewhere=_ONLY_REST),
    _way("its metadata is some other JSON", Effect.STOPS, _metadata(b'{"hello": [1, 2]}')),
    _way("its format version is unknown", Effect.FROZEN, _field(**{"format-version": 99})),
    _way("its metadata has no location", Effect.FROZEN, lambda lake: lake.change_fields(lambda f: f.pop("location"))),
    _way("its metadata has lost its snapshots", Effect.FROZEN, _field(snapshots=[])),
    _way(
        "its location is the whole bucket or disk",
        Effect.LEFT,
        lambda lake: lake.change_fields(lambda fields: fields.update(location=lake.root)),
        leaves_others=True,
    ),
    _way(
        "its location is the whole warehouse",
        Effect.COLLECTED,
        lambda lake: lake.change_fields(lambda fields: fields.update(location=lake.kind.warehouse)),
        leaves_others=True,
    ),
    _way("its location has an unknown scheme", Effect.FROZEN_ALONE, _field(location=ODD_PLACE)),
    _way("its metadata is at a place with an unknown scheme", Effect.STOPS, _other_metadata, elsewhere=_BY_NAME),
    _way("its newest manifest list is gone", Effect.FROZEN, _removed("manifest_list")),
    _way(
        "its newest manifest list is empty",
        Effect.FROZEN,
        _rewritten("manifest_list", lambda _: b""),
    ),
    _way(
        "its newest manifest list is cut off",
        Effect.FROZEN,
        _rewritten("manifest_list", _half),
    ),
    _way("a manifest is gone", Effect.FROZEN, _removed("manifest")),
    _way("a manifest is cut off", Effect.FROZEN, _rewritten("manifest", _half)),
    _way("a manifest has a wrong bit", Effect.FROZEN, _rewritten("manifest", _wrong_bit)),
    _way(
        "a manifest has fewer entries than its list counts",
        Effect.FROZEN,
        _rewritten("manifest", lambda data: with_records(data, lambda _: [])),
    ),
    _way("a manifest is a bomb", Effect.FROZEN, _rewritten("manifest", _manifest_bomb)),
    _way("a data file is gone", Effect.COLLECTED, _removed("data")),
    _way("all of its files are gone", Effect.FROZEN, _all_files),
    _way("its catalog does not say where its metadata is", Effect.FROZEN, _unplaced, elsewhere=_NOWHERE),
    _way("its catalog answers with status 500", Effect.FROZEN, _answer(500, b"{}"), elsewhere=_ONLY_REST),
    _way("its catalog lists it and then answers 404", Effect.FROZEN, _answer(404, b"{}"), elsewhere=_ONLY_REST),
    _way("its catalog answers something else than JSON", Effect.FROZEN, _answer(200, b"<html>"), elsewhere=_ONLY_REST),
    _way(
        "it is a view whose metadata is gone",
        Effect.FROZEN,
        lambda lake: lake.kind.remove(_view_of(lake)),
        elsewhere={"REST": Effect.STOPS},
        before=_as_view,
    ),
    _way("it is a table of a type that nothing reads", Effect.LEFT, _delta, elsewhere=_ONLY_NESSIE),
    _way("its folder is a Delta table as well", Effect.LEFT, _beside("_delta_log/00000000000000000000.json", b"{}")),
    _way("a version hint beside its metadata names a newer version", Effect.FROZEN_ALONE, _hinted),
    _way("its metadata is compressed with zstandard", Effect.COLLECTED, _compressed),
    _way("its times are in microseconds", Effect.COLLECTED, lambda lake: lake.change_fields(_microseconds)),
)
"""The rows of the page, in its order."""
