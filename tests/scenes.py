"""Small lakes with one difficulty each, all in one lake: a run over it meets every difficulty at once.

Each scene has a folder of its own and its own references. It says what must be left after a run that keeps the
heads only (or what its own cut-offs say): everything else in its swept locations must be gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nessie_gc_memory import MemoryLake, TableState, content, delete, put

NOW = datetime.now(UTC).replace(microsecond=123_457)
"""When the scenes are collected; real, because a disk has the real clock."""
START = NOW - timedelta(days=10)


@dataclass
class Scene:
    """One scene while it is written, and what is expected of it."""

    name: str
    lake: MemoryLake
    kept: set[str] = field(default_factory=set)
    """What must stay besides what live states need."""
    lost: set[str] = field(default_factory=set)
    """What is needed and not there."""
    swept: set[str] = field(default_factory=set)
    """Locations in which everything else must go."""
    cutoffs: list[str] = field(default_factory=list)
    finish: Callable[[Path], None] = lambda folder: None
    """What happens in the scene's folder once it is written to a disk."""

    def path(self, rest: str) -> str:
        return f"memory://wh/{self.name}/{rest}"

    def ref(self, name: str = "main") -> str:
        return f"{self.name}/{name}"

    def table(self, name: str, location: str | None = None) -> TableState:
        location = self.path(location or f"db/{name}")
        return self.lake.table(f"{self.name}.{name}", location=location, content_id=f"{self.name}-{name}")

    def commit(self, *states: TableState, ref: str = "main") -> str:
        return self.lake.commit(self.ref(ref), *(put(state.version) for state in states))

    def live(self, *states: TableState) -> None:
        """These states are live, and their base locations are swept."""
        for state in states:
            self.kept |= state.needed
            self.swept |= {location + "/" for location in (state.location, *state.historic_locations)}

    def frozen(self, location: str) -> None:
        """Nothing may go below the location."""
        self.kept |= {path for path, _ in self.lake.objects.below(self.path(location) + "/")}

    def leave(self, rest: str, content: bytes | int = 100, *, modified: datetime | None = None) -> str:
        """Stores a file that nobody names."""
        return self.lake.put(self.path(rest), content, modified=modified)

    def lose(self, path: str) -> None:
        """Somebody deletes a file behind our back."""
        self.lake.objects.delete(path)
        self.lost.add(path)

    @property
    def dead(self) -> set[str]:
        """What must go."""
        return {
            path
            for path, _ in self.lake.objects.below(self.path(""))
            if path not in self.kept and any(path.startswith(location) for location in self.swept)
        }


def shared_location(scene: Scene) -> None:
    a = scene.table("a", "db/shared").append("a.parquet")
    b = scene.table("b", "db/shared").append("b.parquet")
    scene.commit(a)
    scene.commit(b, ref="dev")
    scene.leave("db/shared/data/nobody.parquet")
    scene.live(a, b)


def nested_locations(scene: Scene) -> None:
    outer = scene.table("outer", "db/t").append("a.parquet").overwrite("b.parquet")
    inner = scene.table("inner", "db/t/inner").append("c.parquet")
    first = scene.commit(outer, inner)
    scene.lake.commit(scene.ref(), delete(inner.key))
    scene.lake.tag(scene.ref("tag"), first)
    scene.leave("db/t/data/nobody.parquet")
    scene.leave("db/t/inner/data/nobody.parquet")
    scene.live(outer, inner)


def names_that_begin_alike(scene: Scene) -> None:
    t = scene.table("t").append("a.parquet")
    dropped = scene.table("t2").append("b.parquet")
    scene.commit(t, dropped)
    scene.lake.commit(scene.ref(), delete(dropped.key))
    scene.leave("db/t/data/nobody.parquet")
    scene.leave("db/t-backup/precious.parquet")
    scene.leave("db/t.txt")
    scene.live(t)


ODD_LIVE = (
    "p=a%20b/ü.parquet",
    "p=1:2/a#b?c=d&e.parquet",
    ".hidden/-.parquet",
    "a b.parquet",
    "_under/..dots...parquet",
    "%41.parquet",
    "UPPER.parquet",
    "e\u0301.parquet",
    "quote'\"\\.parquet",
    "tab\tnew\nline.parquet",
    "[*]{$x}.parquet",
    "/".join(["k" * 190] * 5) + "/end.parquet",
    "日本語/😀.parquet",
    " leading and trailing ",
)
ODD_DECODED = ("p=a b/ü.parquet", "A.parquet")
"""What live ones decode to; on a disk that may be what their paths mean."""
ODD_DEAD = (
    "p=1%3A2/a#b?c=d&e.parquet",
    "p=1:2/a",
    ".hidden/--.parquet",
    "a%20b.parquet",
    "a+b.parquet",
    "upper.parquet",
    "\u00e9.parquet",
    "quote''\"\\.parquet",
    "tab\tnew\nline.parquet.2",
    "[*]{$y}.parquet",
    "/".join(["k" * 190] * 5) + "/end2.parquet",
    "日本語/😁.parquet",
    "leading and trailing",
)


def odd_names(scene: Scene) -> None:
    t = scene.table("t").append(*ODD_LIVE)
    scene.commit(t)
    for name in ODD_DEAD:
        scene.leave(f"db/t/data/{name}")
    scene.kept |= {scene.leave(f"db/t/data/{name}") for name in ODD_DECODED}
    scene.live(t)


def three_verdicts(scene: Scene) -> None:
    fine = scene.table("fine").append("a.parquet").overwrite("b.parquet")
    lossy = scene.table("lossy").append("c.parquet", "d.parquet")
    broken = scene.table("broken").append("e.parquet")
    scene.commit(fine, lossy, broken)
    for name in ("fine", "lossy", "broken"):
        scene.leave(f"db/{name}/data/nobody.parquet")
    scene.lose(scene.path("db/lossy/data/c.parquet"))
    (manifest,) = broken.manifests[1]
    scene.lake.put(manifest, b'{"memory": "manifest", "files": ["mem')
    scene.live(fine, lossy, broken)
    scene.frozen("db/broken")


def corrupt_metadata(scene: Scene) -> None:
    fine = scene.table("fine").append("a.parquet")
    older = scene.table("broken").append("b.parquet")
    broken = older.append("c.parquet")
    scene.commit(fine, older)
    scene.commit(broken)
    scene.cutoffs.append(f"{scene.ref()}=NONE")
    scene.lake.put(broken.metadata_location, b"\x00 no JSON")
    scene.leave("db/fine/data/nobody.parquet")
    scene.leave("db/broken/data/nobody.parquet")
    scene.live(fine)


def missing_metadata_of_the_head(scene: Scene) -> None:
    older = scene.table("gone").append("a.parquet")
    gone = older.append("b.parquet")
    scene.commit(older)
    scene.commit(gone)
    scene.cutoffs.append(f"{scene.ref()}=NONE")
    scene.lose(gone.metadata_location)
    scene.leave("db/gone/data/nobody.parquet")
    scene.frozen("db/gone")
    scene.swept.add(scene.path("db/gone/"))


def missing_metadata_of_an_older_version(scene: Scene) -> None:
    first = scene.table("t").append("a.parquet")
    second = first.overwrite("b.parquet")
    scene.commit(first)
    scene.commit(second)
    scene.cutoffs.append(f"{scene.ref()}=NONE")
    scene.lose(first.metadata_location)
    scene.leave("db/t/data/nobody.parquet")
    scene.frozen("db/t")


def ages(scene: Scene) -> None:
    t = scene.table("t").append("a.parquet")
    scene.commit(t)
    scene.leave("db/t/data/25-hours.parquet", modified=NOW - timedelta(hours=25))
    young = {
        scene.leave("db/t/data/23-hours.parquet", modified=NOW - timedelta(hours=23)),
        scene.leave("db/t/data/1-minute.parquet", modified=NOW - timedelta(minutes=1)),
        scene.leave("db/t/data/next-year.parquet", modified=NOW + timedelta(days=365)),
    }
    scene.live(t)
    scene.kept |= young


def snapshots_that_tags_hold(scene: Scene) -> None:
    first = scene.table("t").append("a.parquet")
    second = first.overwrite("b.parquet")
    third = second.overwrite("c.parquet").hold(1)
    scene.commit(first)
    scene.commit(second)
    scene.commit(third)
    scene.live(third)


def types_nobody_reads(scene: Scene) -> None:
    t = scene.table("t").append("a.parquet")
    around = scene.table("around").append("b.parquet")
    unread = (
        content("delta", metadata_location=None, content_type="DELTA", location=scene.path("db/delta")),
        content("within", metadata_location=None, content_type="DELTA", location=scene.path("db/around/within")),
        content("nowhere", metadata_location=None, content_type="UDF"),
    )
    scene.commit(t, around)
    scene.lake.commit(scene.ref(), *(put(version) for version in unread))
    scene.leave("db/t/data/nobody.parquet")
    scene.leave("db/delta/part-0.parquet")
    scene.leave("db/around/within/part-0.parquet")
    scene.leave("db/around/data/nobody.parquet")
    scene.live(t, around)
    scene.frozen("db/around")


def whole_names(scene: Scene) -> None:
    versions = {}
    for ref in ("main", "dev", "main-archive", "my-main"):
        first = scene.table(ref).append("a.parquet")
        second = first.overwrite("b.parquet")
        scene.commit(first, ref=ref)
        scene.commit(second, ref=ref)
        versions[ref] = (first, second)
    scene.cutoffs.append(f"{scene.ref('main')}|{scene.ref('dev')}=NONE")
    scene.live(*versions["main"], *versions["dev"], versions["main-archive"][1], versions["my-main"][1])


def renamed_dropped_tagged(scene: Scene) -> None:
    first = scene.table("old").append("a.parquet")
    tagged = scene.commit(first)
    scene.lake.tag(scene.ref("tag"), tagged)
    second = first.overwrite("b.parquet").renamed(f"{scene.name}.new")
    scene.lake.commit(scene.ref(), delete(first.key), put(second.version))
    third = second.overwrite("c.parquet")
    scene.commit(third)
    side = third.append("d.parquet")
    scene.lake.branch(scene.ref("side"), scene.ref())
    scene.commit(side, ref="side")
    scene.lake.drop(scene.ref("side"))
    scene.live(first, third)


def sidecars(scene: Scene) -> None:
    t = scene.table("t").append("live.parquet", ".real.crc")
    scene.commit(t)
    live = scene.leave("db/t/data/.live.parquet.crc", 12)
    scene.leave("db/t/data/dead.parquet")
    scene.leave("db/t/data/.dead.parquet.crc", 12)
    scene.leave("db/t/data/.orphan.parquet.crc", 12)
    scene.leave("db/t/data/.crc", 12)
    old = scene.leave("db/t/data/old.parquet")
    young = scene.leave("db/t/data/.old.parquet.crc", 12, modified=NOW - timedelta(hours=1))
    scene.live(t)
    scene.kept |= {live, old, young}


def unknown_scheme(scene: Scene) -> None:
    fine = scene.table("fine").append("a.parquet")
    strange = scene.table("strange").append("b.parquet")
    scene.commit(fine, strange)
    (manifest,) = strange.manifests[1]
    names = [*strange.files[manifest], "warp://bucket/c.parquet"]
    scene.lake.put(manifest, json.dumps({"memory": "manifest", "files": names}).encode())
    scene.leave("db/fine/data/nobody.parquet")
    scene.leave("db/strange/data/nobody.parquet")
    scene.live(fine)
    scene.frozen("db/strange")


def moved_table(scene: Scene) -> None:
    first = scene.table("t", "db/before").append("a.parquet")
    second = first.move_to(scene.path("db/after")).append("b.parquet")
    scene.commit(second)
    scene.leave("db/before/data/nobody.parquet")
    scene.leave("db/after/data/nobody.parquet")
    scene.live(second)


def folders_and_links(scene: Scene) -> None:
    t = scene.table("t").append("a.parquet")
    scene.commit(t)
    scene.leave("db/t/deep/er/nobody.parquet")
    scene.leave("elsewhere/precious.parquet")
    scene.live(t)

    def finish(folder: Path) -> None:
        (folder / "db/t/empty/folder").mkdir(parents=True)
        (folder / "db/t/link-to-folder").symlink_to(folder / "elsewhere", target_is_directory=True)

    scene.finish = finish


SCENES = (
    shared_location, nested_locations, names_that_begin_alike, odd_names, three_verdicts, corrupt_metadata,
    missing_metadata_of_the_head, missing_metadata_of_an_older_version, ages, snapshots_that_tags_hold,
    types_nobody_reads, whole_names, renamed_dropped_tagged, sidecars, unknown_scheme, moved_table, folders_and_links,
)  # fmt: skip


def write_scenes(lake: MemoryLake) -> dict[str, Scene]:
    """Writes all scenes into a lake, whose clock then stands at the time of the run."""
    lake.now = START
    scenes = {}
    for write in SCENES:
        scene = scenes[write.__name__] = Scene(write.__name__, lake)
        write(scene)
    lake.now = NOW
    return scenes
