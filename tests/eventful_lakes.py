"""Random lakes to which a lot happens between collections, in one repository or in two of one live-set store.

Tables take over each other's files, spell paths in other ways, share their folders with other formats, cannot be read
any more, are set aside, are dropped here and registered there, and appear again at old commits; their files go to a
quarantine, come back, and are purged. After every step :mod:`eventful_oracle` says what must still be there.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

from collecting import LakeServices, in_memory
from eventful_oracle import Model, Side, Stored
from histories import LOCATIONS, Author, Choose
from in_quarantine import purge, restore
from nessie_gc_memory import MemoryLiveSetStore, MemoryRepository, TableState

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.locations import SCHEME_ALIASES, LocationRules
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

DAY = timedelta(days=1)
PLACES = (*LOCATIONS, "wh/db/c", "wh/x/d", "wh2/db/e")
UNIQUE_NAMES = ("{}.parquet", "p=1:2/{} b.parquet", "P=A/{}+c.parquet", "p=a%20b/{}ü.parquet", ".hidden/{}#d?.parquet")
"""Names of files, each with a number, for a lost file keeps all that are called like it (S30)."""
_DELTA = "_delta_log/00000000000000000000.json"
MARKS = (_DELTA, ".hoodie/hoodie.properties", "snapshot/snapshot-1", "_versions/1.manifest")
QUARANTINES = tuple(
    [kind.format(bucket) for bucket in ("wh", "wh2")]
    for kind in ("memory://{}/held/", "versions:memory://{}/", "tags:memory://{}/")
)
MOST_COLLECTIONS = 3
"""Before the last one."""
_RULES = LocationRules(scheme_aliases={**SCHEME_ALIASES, "memory": "s3"})
_KEY = re.compile(r"(memory://[^/]+/)(.*)")


class EventfulAuthor(Author):
    """Also takes over files of other tables, and spells paths in other ways."""

    def __init__(self, choose: Choose, *, beside: EventfulAuthor | None = None) -> None:
        super().__init__(choose, names=UNIQUE_NAMES, locations=PLACES, beside=beside)
        self._spelled: set[str] = set() if beside is None else beside._spelled
        self.elsewhere: set[str] = set() if beside is None else beside.elsewhere
        """Files that are spelled as if they were in a place that nobody knows."""
        self.in_a_hurry = False
        self.neighbours = 0 if beside is None else 2
        """How often tables of another repository are registered here as well; they may be dropped there later."""
        if beside is not None:
            beside.neighbours = 2

    @property
    def states(self) -> dict[str, TableState]:
        """Every state that was ever committed here or in the lake beside, by its metadata file."""
        return self._states

    def step(self) -> None:
        """As any step, but a collection that runs meanwhile would lose its lease in hours."""
        if self.in_a_hurry:
            self._choose(self._happenings())()
        else:
            super().step()

    def create(self) -> None:
        """Creates a table."""
        self._create()

    def branch_at_an_old_commit(self, needing: Collection[str]) -> None:
        """Makes something live again, if possible something that needs one of some files."""
        commits = [
            commit.commit_id
            for commit in self.lake.history.commits()
            for content in (each.content for each in commit.operations)
            if content is not None and not self.lake.needed[content.metadata_location or ""].isdisjoint(needing)
        ]
        if commits:
            self.lake.branch(f"r{self.lake.next_number()}", self._choose(commits))
        else:
            self._make_reference()

    def _happenings(self) -> list[Callable[[], None]]:
        more = [*[self._take_over] * 2, *[self.hand_over] * 2, *[self._adopt] * self.neighbours]
        return [*super()._happenings(), *more]

    def _new_name(self) -> str:
        return self._choose(self._names).format(self.lake.next_number())

    def _take_over(self) -> None:
        """Adds a file of any table to another one, as ``add_files`` does."""
        branch = self._branch()
        state = self._table(branch)
        if state is not None:
            files = {path for other in self._states.values() for some in other.files.values() for path in some}
            there = sorted(path for path in files if self.lake.has(path))
            others = [path for path in there if not path.startswith(f"{state.location}/")] or there
            self._put(branch, state.append(self._new_name(), *([self._choose(others)] if others else [])))

    def hand_over(self) -> None:
        """A table takes over a file of another one, which forgets it: nobody else needs it any more."""
        branch = self._branch()
        guest, host = self._table(branch), self._table(branch)
        if guest is None or host is None or guest.location == host.location or host.current is None:
            return
        files = sorted(path for manifest in host.manifests[host.current] for path in host.files[manifest])
        self._put(branch, guest.append(self._choose(files)), host.overwrite(self._new_name()).hold())

    def _put(self, branch: str, *states: TableState) -> None:
        for manifest in sorted({path for state in states for path in state.files} - self._spelled):
            self._spelled.add(manifest)
            stored = self.lake.objects.get(manifest)
            if stored is not None and stored.data is not None:
                self._respell(manifest, json.loads(stored.data))
        super()._put(branch, *states)

    def _respell(self, manifest: str, found: dict[str, list[str]]) -> None:
        spelled = [self._choose(_SPELLINGS)(path) for path in found["files"]]
        for path, name in zip(found["files"], spelled, strict=True):
            if not _RULES.place(name).startswith(_RULES.place(path.partition("/data/")[0])):
                self.elsewhere.add(path)
        if spelled != found["files"]:
            self.lake.put(manifest, json.dumps({**found, "files": spelled}).encode())


def _of_key(change: Callable[[str], str]) -> Callable[[str], str]:
    """Changes a path behind its bucket."""
    return lambda path: _KEY.sub(lambda found: found[1] + change(found[2]), path)


def _same(path: str) -> str:
    return path


_SPELLINGS: tuple[Callable[[str], str], ...] = (
    *[_same] * 12,
    _of_key(quote),
    _of_key(lambda key: quote(quote(key))),
    _of_key(lambda key: quote(key, safe="/=:")),
    _of_key(lambda key: key.replace(" ", "+")),
    _of_key(str.upper),
    _of_key(str.swapcase),
    _of_key(lambda key: key.replace("/data/", "//data/./")),
    lambda path: path.replace("memory://", "s3a://"),
    lambda path: path.replace("memory://", "s3n://").replace("/data/", "//data/"),
)
"""What writers make of a path; most leave it as it is."""


class EventfulLake:
    """One lake and its collections; ``wrong`` says what went wrong."""

    def __init__(self, choose: Choose, engine: Engine) -> None:
        """Takes what decides, and what collects."""
        self._choose = choose
        first = EventfulAuthor(choose)
        self.lake = first.lake
        self._authors = [first]
        if choose([False, True]):
            self._authors.append(EventfulAuthor(choose, beside=first))
        self.lake.objects.keeps_versions = choose([False, True])
        store = MemoryLiveSetStore.from_options({})
        store.clock = lambda: self.lake.time
        services = in_memory(self.lake, engine).choosing(
            scheme_aliases={"memory": "s3"}, plugins=_plugins(), read_ahead=1
        )
        repositories = (MemoryRepository.from_options({"lake": each.lake.name}) for each in self._authors)
        self._services = [replace(services, repository=each, store=store) for each in repositories]
        self._policy = choose(["1", "1", "2", "PT20H", "P10D"])
        sides = [Side(repository=each.repository) for each in self._services]
        self.model = Model(
            lake=self.lake,
            states=first.states,
            elsewhere=first.elsewhere,
            store=store,
            sides=sides,
            policy=self._policy,
        )
        self._writing = self._collected = self._authors
        """Where something happens, and what is collected."""
        self._collections = 0
        self.steps: list[str] = []
        """What happened, in order."""

    @property
    def names(self) -> list[str]:
        """The lakes in memory that it made."""
        return [author.lake.name for author in self._authors]

    def live(self) -> list[str]:
        """Lets things happen, and collects at the end; what went wrong, if anything."""
        for _ in range(self._choose(range(2, 6))):
            self._happen(self._choose(self._authors), EventfulAuthor.create)
        self._work(self._choose(range(2, 8)))
        self._wait(timedelta(days=3))
        for happen in self._plan():
            happen()
            if self.model.wrong:
                return self.model.wrong
            self._wait(timedelta(hours=self._choose([1, 30, 24 * 12, 24 * 40])))
        self._finish()
        return self.model.wrong

    def _plan(self) -> list[Callable[[], None]]:
        """Anything in any order, or what leads to something rare, with anything in between."""
        anything = [
            self._write, self._write, self._write, self._damage, self._damage, self._repair, self._mark_foreign,
            self._appear_again, self._collect, self._collect, self._quarantine, self._restore, self._purge,
        ]  # fmt: skip
        rare = self._choose(
            [
                [self._choose(anything) for _ in range(self._choose(range(2, 9)))],
                [self._hand_over, self._collect, self._damage_a_guest, self._write],
                [self._damage_a_guest, self._collect, self._repair, self._collect],
                [self._write, self._quarantine, self._appear_again, self._purge],
                [self._write, self._quarantine, self._appear_again, self._collect, self._purge],
            ]
        )
        more = [(number, self._choose(anything)) for number in range(self._choose(range(3)))]
        for at, happening in more:
            rare.insert(self._choose(range(at, len(rare) + 1)), happening)
        return rare

    # ---- what writers do ------------------------------------------------------------------------------
    def _say(self, step: str) -> None:
        self.steps.append(f"{self.lake.time:%m-%d %H:%M} {step}")

    def _wait(self, time: timedelta) -> None:
        self.lake.advance(time)

    def _work(self, steps: int) -> None:
        for _ in range(steps):
            self._happen(self._choose(self._writing), EventfulAuthor.step)

    def _happen(self, author: EventfulAuthor, what: Callable[[EventfulAuthor], None]) -> None:
        before = {each.commit_id for each in author.lake.history.commits()}
        references, paths = author.lake.history.references(), self.lake.paths()
        what(author)
        self._tell(author, before)
        if references != author.lake.history.references():
            heads = {each.name: (each.commit_id or "")[:6] for each in author.lake.history.references()}
            self._say(f"references of {self._authors.index(author)}: {heads}")
        elif new := self.lake.paths() - paths:
            self._say(f"garbage: {sorted(new)}")

    def _tell(self, author: EventfulAuthor, before: set[str]) -> None:
        for commit in author.lake.history.commits():
            if commit.commit_id in before:
                continue
            for operation in commit.operations:
                content = operation.content
                what = "dropped" if content is None else f"{content.content_id} {content.metadata_location}"
                need = sorted(self.lake.needed[content.metadata_location or ""]) if content is not None else []
                where = self._authors.index(author)
                self._say(f"commit {commit.commit_id[:6]} to {where}: {operation.content_key} {what} needs {need}")

    def _write(self) -> None:
        self._work(self._choose(range(1, 5)))

    def _hand_over(self) -> None:
        for _ in range(2):
            self._happen(self._choose(self._authors), EventfulAuthor.hand_over)

    def _appear_again(self) -> None:
        author = self._choose(self._writing)
        author.branch_at_an_old_commit(self._choose([self.model.stored().held, frozenset[str]()]))
        new = author.lake.history.references()[-1]
        self._say(f"{new.name} of {self._authors.index(author)} at {(new.commit_id or '')[:6]}")

    def _mark_foreign(self) -> None:
        place = self._choose([*PLACES, "wh/db/b/deeper"])
        path = self.lake.put(f"memory://{place}/{self._choose(MARKS)}")
        self.model.marks.add(path)
        self._say(f"another format: {path}")

    def _damage(self) -> None:
        """Something that a live version names cannot be read any more, or is gone."""
        self._damage_one_of(self.model.structure())

    def _damage_a_guest(self) -> None:
        """The same of a table that took over files."""
        self._damage_one_of(self.model.structure_of_guests())

    def _damage_one_of(self, found: Collection[str]) -> None:
        paths = sorted(path for path in found if self.lake.has(path))
        if not paths:
            return
        path = self._choose(paths)
        stored = self.lake.objects.get(path)
        assert stored is not None
        content: bytes | None = self._choose(
            [b"broken", (stored.data or b"")[:-20], b"{}", b'{"format-version": 4, "relative": "data/x"}', None]
        )
        if content is None:
            self.lake.objects.delete(path)
        else:
            self.lake.put(path, content, modified=stored.modified)
        self.model.damaged.setdefault(path, stored)
        self._say(f"damaged: {path} is {content!r}")

    def _repair(self) -> None:
        if self.model.damaged:
            path = self._choose(sorted(self.model.damaged))
            stored = self.model.damaged.pop(path)
            self.lake.put(path, stored.data or b"", modified=stored.modified)
            self._say(f"repaired: {path}")

    # ---- what collects --------------------------------------------------------------------------------
    def _side(self) -> int | None:
        """Which repository is collected alone; ``None``: all."""
        return None if len(self._authors) == 1 else self._choose([None, 0, 1])

    def _of(self, side: int | None) -> LakeServices:
        self._collected = [self._authors[number] for number in self._sides(side)]
        if side is None:
            others = [author.lake for author in self._authors[1:]]
            return self._services[0].together_with(*others) if others else self._services[0]
        return self._services[side]

    def _look_at_the_other(self, side: int | None) -> None:
        """The other repository is known as of now: both are collected every day."""
        if side is not None:
            other = 1 - side
            self._services[other].collect(self._policy, sweep=SweepParameters(max_deletes=0))
            self.model.was_read(other)
            if self._choose([False, True]):
                self._wait(timedelta(minutes=1))
                self._services[other].mark(self._policy)
            self._say(f"looked at {other}")
            self._wait(timedelta(minutes=1))

    def _quarantine(self) -> None:
        self._collect(quarantine=self._choose(QUARANTINES))

    def _collect(self, quarantine: Sequence[str] = ()) -> None:
        if self._collections >= MOST_COLLECTIONS:
            return
        self._collections += 1
        side = self._side()
        aside = self.model.never_read(self._sides(side)) if self._choose([False, True]) else {}
        sweep = SweepParameters(
            quarantine=quarantine,
            quarantine_for=self._choose([DAY, 30 * DAY]),
            dropped_after=self._choose([None, None, timedelta(0), 3 * DAY]),
            membership=self._choose([Membership.EXACT, Membership.EXACT, Membership.BLOOM]),
            strict=side is not None,
            set_aside=_patterns(aside),
        )
        self._look_at_the_other(side)
        if not sweep.quarantine and self._choose([False, False, True]):
            self._run(side, replace(sweep, defer_deletes=True), self._deferred)
        else:
            self._run(side, sweep, self._at_once)

    def _sides(self, side: int | None) -> list[int]:
        return list(range(len(self._authors))) if side is None else [side]

    def _between(self) -> None:
        """Something that happens during a collection, in the repositories that it knows."""
        if self._choose([False, False, True]):
            before, self._writing = self._writing, self._collected
            for author in self._writing:
                author.in_a_hurry = True
            self._choose([self._write, self._appear_again])()
            for author in self._writing:
                author.in_a_hurry = False
            self._writing = before

    def _at_once(self, services: LakeServices, sweep: SweepParameters) -> GcReport:
        return services.collect(self._policy, sweep=sweep, between=self._between)

    def _deferred(self, services: LakeServices, sweep: SweepParameters) -> GcReport:
        report = services.collect(self._policy, sweep=sweep)
        self._wait(timedelta(minutes=1))
        self._between()
        assert report.live_set_id is not None
        return services.delete_deferred(
            UUID(report.live_set_id), SweepParameters(set_aside=sweep.set_aside, strict=sweep.strict)
        )

    def _run(
        self, side: int | None, sweep: SweepParameters, run: Callable[[LakeServices, SweepParameters], GcReport]
    ) -> GcReport | None:
        said = {name: getattr(sweep, name) for name in ("quarantine", "dropped_after", "defer_deletes", "set_aside")}
        self._say(f"collected: {'all' if side is None else side}, {said}")
        before = self.model.stored()
        reached = self.model.readable_now(self._sides(side))
        try:
            report = run(self._of(side), sweep)
        except SafetyError as error:
            self._say(f"refused: {error}")
            self.model.check_nothing_went(before)
            return None
        self.model.add_read(reached)
        self.model.check_collection(before, self._sides(side), sweep.set_aside)
        gone = sorted(before.paths - self.lake.paths())
        self._say(f"gone: {gone}; frozen: {sorted(report.unknown)}, {sorted(report.unread)}")
        return report

    def _restore(self) -> None:
        before = self.model.stored()
        for services in self._services:
            restore(services)
        self._say(f"restored: {sorted(self.lake.paths() - before.paths)}")
        self.model.check_restored(before)

    def _purge(self) -> None:
        """A purge; most come after a collection, or nothing is purged (S29)."""
        if not self.model.stored().held and not self.model.stored().tagged:
            return
        self._wait(self._choose([DAY, 40 * DAY]))
        side = self._side()
        self._look_at_the_other(side)
        if self._choose([True, True, False]):
            self._run(side, SweepParameters(strict=side is not None), self._quietly)
            self._wait(timedelta(minutes=1))
            self._between()
        before = self.model.stored()
        purge(self._of(side))
        self._say(f"purged: {sorted(before.everything - self.model.stored().everything)}")
        self.model.check_purge(before)

    def _finish(self) -> None:
        """The last collection leaves no garbage but where something keeps it."""
        if self._choose([False, True]):
            self._restore()
        for place in PLACES:
            self.lake.put(f"memory://{place}/data/{self.lake.next_number()}.parquet")
        self._wait(3 * DAY)
        aside = self.model.never_read(self._sides(None))
        before = self.model.stored()
        report = self._run(None, SweepParameters(set_aside=_patterns(aside)), self._quietly)
        assert report is not None
        self.model.check_no_garbage(before)

    def _quietly(self, services: LakeServices, sweep: SweepParameters) -> GcReport:
        return services.collect(self._policy, sweep=sweep)


@functools.cache
def _plugins() -> PluginRegistry:
    """Those that are needed, which saves time."""
    return PluginRegistry.discover(only=("core", "memory"))


def _patterns(names: dict[str, set[str]]) -> list[str]:
    return sorted({re.escape(name) for some in names.values() for name in some})


__all__ = ["EventfulLake", "Stored"]
