"""Random lakes in which nothing is called what it is: odd spellings, links, names like sidecars, shared places.

A lake is drawn from one number. On a disk its paths go through links, and the oracle asks the disk what each path is.
In an object store keys have doubled slashes and dots, and the store drops them or keeps them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from collecting import LakeServices, in_memory
from histories import NAMES, Author
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository, save_history
from oracle import live_versions

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

ODD_NAMES = (*NAMES, ".x.parquet.crc", "..parquet", "%2F", "a%2Fb", "#", "?", "~", "...", "-", ".crc", "é", "e\u0301")
_WITHIN = re.compile(r"(?<=[^/:])/(?=[^/])")
"""A slash between two elements of a key."""


@dataclass
class OddLake:
    """One lake, and how it is collected."""

    seed: int
    rng: random.Random = field(init=False)
    author: Author = field(init=False)
    lake: MemoryLake = field(init=False)
    policy: str = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.author = Author(self.rng.choice, names=ODD_NAMES)
        self.lake = self.author.lake
        self.policy = self.rng.choice(["NONE", "1", "1", "2", "PT20H"])
        for _ in range(self.rng.randint(2, 18)):
            self.author.step()
        self.lake.advance(timedelta(days=self.rng.choice([1, 3, 3, 3])))

    @property
    def mode(self) -> DeleteMode:
        return self.rng.choice([DeleteMode.DELETE, DeleteMode.DELETE, DeleteMode.DEFER])

    def collect(self, services: LakeServices, after_mark: Callable[[], None]) -> GcReport:
        """Marks, lets something happen, sweeps, and where deletion is deferred lets something happen once more."""
        settings = SweepParameters(
            defer_deletes=self.mode is DeleteMode.DEFER,
            membership=self.rng.choice(list(Membership)),
            files_per_step=self.rng.choice([3, 1000]),
        )
        live_set = services.mark(self.policy)
        self._happen(after_mark)
        report = services.sweep(live_set, settings)
        if settings.mode is DeleteMode.DEFER:
            self._happen(after_mark)
            report = services.delete_deferred(live_set)
        return report

    def _happen(self, then: Callable[[], None]) -> None:
        """References come, go and move, and tables change."""
        for _ in range(self.rng.choice([0, 1, 3])):
            self.author.step()
        then()

    def needed(self, repository: MemoryRepository) -> set[str]:
        """The paths that are live by the letter, in memory's spelling."""
        policies = ReferencePolicies.parse(self.policy, reference_time=self.lake.time)
        return self.lake.needed_files(live_versions(repository, policies).values())

    def respell(self, path: str) -> str:
        """Another spelling of a path: more slashes and dots between its elements."""
        if self.rng.random() < 0.6:
            return path
        start, key = path[: path.index("//") + 2], path[path.index("//") + 2 :]
        return start + _WITHIN.sub(lambda _: self.rng.choice(["/", "/", "/", "//", "/./", "//./"]), key)


# ---- a disk ---------------------------------------------------------------------------------------------
@dataclass
class DiskLake(OddLake):
    """The lake as files, whose paths go through links."""

    folder: Path

    def run(self, engine: Engine) -> Iterator[str]:
        """Collects, and gives what is wrong afterwards: what a live path, as it is spelled, does not read any more."""
        root = self.folder / "lake"
        (self.folder / "up").symlink_to(self.folder)
        for number in range(3):  # deep enough, without an allow-list
            root = root / f"d{number}"
        self._write(root)
        services = LakeServices(
            repository=MemoryRepository.from_options({"history_file": str(root / "history.json")}),
            store=MemoryLiveSetStore.from_options({}),
            engine=engine,
            clock=lambda: self.lake.time,
        )
        before = {path: self._content(root, path) for path in self.lake.paths()}
        report = self.collect(services, lambda: self._write_more(root, before))
        for path in sorted(self.needed(MemoryRepository.from_options({"lake": self.lake.name}))):
            if before.get(path) is not None and self._content(root, path) != before[path]:
                yield f"{path} is live and gone ({self._on_disk(root, path)})"
        if not report.unknown and not report.unreadable and report.lost.files:
            yield f"{[file.path for file in report.lost_files]} are there, and counted as lost"

    def _write(self, root: Path) -> None:
        self.lake.write_to(root)
        for bucket in ("wh", "wh2"):
            (root / bucket / "db").mkdir(parents=True, exist_ok=True)
            (root / bucket / "alias").symlink_to("db")
        for file in self._files(root):
            if not file.name.endswith(".json") and self.rng.random() < 0.1:
                self._make_link(file)
        self._respell_all(root, {file: file for file in self._files(root)})

    def _make_link(self, file: Path) -> None:
        """A data file becomes a link to one that nobody names."""
        target = file.with_name(f"target-{file.name}")
        if len(os.fsencode(target.name)) < 200 and not target.exists():
            times = file.stat()
            file.rename(target)
            if self.rng.random() < 0.3 and len(os.fsencode(target.name)) < 190:
                middle = file.with_name(f"middle-{target.name}")
                middle.symlink_to(target.name)
                file.symlink_to(middle)
            else:
                file.symlink_to(target.name if self.rng.random() < 0.5 else target)
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _write_more(self, root: Path, before: dict[str, bytes | None]) -> None:
        """Writes what is new since: new files, and the history as it is now."""
        fresh = root.parent / "fresh"
        self.lake.write_to(fresh)
        for path in self.lake.paths() - set(before):
            source, target = (base / path.removeprefix("memory://") for base in (fresh, root))
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".json":
                source.write_text(source.read_text().replace(f"file://{fresh}/", f"file://{root}/"))
            source.rename(target)
            before[path] = self._content(root, path)
        shutil.rmtree(fresh)
        self._save_history(root)

    def _respell_all(self, root: Path, files: dict[Path, Path]) -> None:
        """Spells the paths in all metadata and in the history in other ways."""
        for file in files:
            if file.suffix == ".json" and file.name != "history.json" and not file.is_symlink():
                times = file.stat()
                file.write_text(json.dumps(self._respelled(json.loads(file.read_text()), root)))
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        self._save_history(root)

    def _save_history(self, root: Path) -> None:
        start = f"file://{root}/"
        save_history(
            self.lake.history,
            root / "history.json",
            rename=lambda path: self._spell(path.replace("memory://", start), root),
        )

    def _respelled(self, value: object, root: Path) -> object:
        if isinstance(value, str):
            return self._spell(value, root) if value.startswith("file://") else value
        if isinstance(value, list):
            return [self._respelled(each, root) for each in value]
        if isinstance(value, dict):
            spelled = {name: self._respelled(each, root) for name, each in value.items()}
            if isinstance(files := spelled.get("files"), list):
                spelled["files"] = [self._encode(str(path)) for path in files]
            return spelled
        return value

    def _encode(self, path: str) -> str:
        """The path of a data file, perhaps percent-encoded, as iceberg-go writes it."""
        if self.rng.random() < 0.9 or "file:///" not in path:
            return path
        return f"file://{quote(path.removeprefix('file://'))}"

    def _spell(self, path: str, root: Path) -> str:
        """A spelling that leads to the same file."""
        if self.rng.random() < 0.3:
            path = path.replace("/db/", "/alias/", 1)
        if self.rng.random() < 0.2:
            path = path.replace(f"{self.folder}/", f"{self.folder}/up/", 1)
        path = self.respell(path)
        return self.rng.choice(["file://", "file://", "file:", "", "file://localhost"]) + path.removeprefix("file://")

    def _files(self, root: Path) -> list[Path]:
        return sorted(
            path for path in root.rglob("*") if path.is_file() and not any(p.is_symlink() for p in path.parents)
        )

    def _on_disk(self, root: Path, path: str) -> Path:
        return root / path.removeprefix("memory://")

    def _content(self, root: Path, path: str) -> bytes | None:
        """What is read by a path; nothing where it leads nowhere."""
        try:
            return self._on_disk(root, path).read_bytes()
        except FileNotFoundError:
            return None


# ---- an object store ------------------------------------------------------------------------------------
@dataclass
class StoreLake(OddLake):
    """The lake in an object store, whose metadata spells keys with doubled slashes and dots."""

    keeps_spellings: bool
    """Whether the store keeps both spellings apart; else it drops what means nothing."""

    def run(self, engine: Engine) -> Iterator[str]:
        """Collects, and gives what is wrong afterwards: which live path is not stored any more."""
        spelled: dict[str, str] = {}
        self._respell_all(spelled)
        services = in_memory(self.lake, engine)
        if not self.keeps_spellings:
            aliases = {"memory://gw/x": "memory://bridge/db", "memory://bridge": "memory://wh"}
            services = services.choosing(path_aliases=aliases)
        before = self.lake.paths()
        report = self.collect(services, lambda: self._respell_all(spelled))
        left = self.lake.paths()
        for path in sorted(self.needed(MemoryRepository.from_options({"lake": self.lake.name}))):
            place = spelled.get(path, path) if self.keeps_spellings else path
            if place in before and place not in left:
                yield f"{place} is live and gone"
        if not report.unknown and not report.unreadable and report.lost.files:
            yield f"{[file.path for file in report.lost_files]} are there, and counted as lost"

    def _respell_all(self, spelled: dict[str, str]) -> None:
        """Spells data files and locations in metadata in other ways; a store that keeps spellings stores them so."""
        for path in sorted(self.lake.paths()):
            found = self.lake.objects.get(path)
            assert found is not None
            if found.data is None or path in spelled:
                continue
            spelled[path] = path
            value = json.loads(found.data)
            if isinstance(value.get("files"), list):
                value["files"] = [self._spell_file(each, spelled) for each in value["files"]]
            if isinstance(value.get("location"), str):
                value["location"] = self.respell(value["location"])
            self.lake.objects.put(path, json.dumps(value).encode(), modified=found.modified)

    def _spell_file(self, path: str, spelled: dict[str, str]) -> str:
        if not self.keeps_spellings:
            gateway = path.replace("memory://wh/db/", "memory://gw/x/") if self.rng.random() < 0.2 else path
            return self.respell(gateway)
        if path not in spelled:
            spelled[path] = self.respell(path)
            found = self.lake.objects.get(path)
            if found is not None and spelled[path] != path:
                self.lake.objects.delete(path)
                self.lake.objects.put(spelled[path], found.size, modified=found.modified)
        return spelled[path]
