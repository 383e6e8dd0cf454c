"""The engine starts while the mark runs; whatever is wrong with either is said, and nothing useless is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from uuid import UUID

import pytest
from collecting import LakeServices
from lakes_together import table
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError, RepositoryError, ServiceUnavailableError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.parameters import GcParameters
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Run, no_progress

SECONDS = 60
NO_JAVA = ConfigurationError("no Java")
INTERRUPTS = [RepositoryError("the log is broken"), KeyboardInterrupt()]


class Starting(LocalEngine):
    """Takes its time, and fails if it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(workers=1)
        self.begun, self.go_on, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.error = error
        self.thread = threading.main_thread()

    def check(self) -> None:
        if not self.begun.is_set():
            self.thread = threading.current_thread()
            self.begun.set()
            assert self.go_on.wait(SECONDS)
            if self.error is not None:
                raise self.error

    def close(self) -> None:
        super().close()
        self.closed.set()


class Opening:
    """An engine of which already the opening takes its time."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.engines: list[Starting] = []

    @contextmanager
    def __call__(self) -> Iterator[Starting]:
        self.begun.set()
        assert self.go_on.wait(SECONDS)
        with Starting() as engine:
            engine.go_on.set()
            self.engines.append(engine)
            yield engine
        self.ended.set()


def with_engine(lake: MemoryLake, services: LakeServices, engine: LocalEngine) -> LakeServices:
    lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("a.parquet").version))
    return replace(services, engine=engine)


def statuses(services: LakeServices) -> list[LiveSetStatus]:
    return [each.status for each in services.store.live_sets()]


# ---- both succeed ---------------------------------------------------------------------------------------
def test_the_mark_runs_before_the_engine_is_there(lake: MemoryLake, services: LakeServices) -> None:
    with Starting() as engine:
        found = with_engine(lake, services, engine)

        def let_it_start() -> None:
            assert engine.begun.wait(SECONDS)
            while LiveSetStatus.IDENTIFY_SUCCESS not in statuses(services):
                assert not engine.go_on.wait(0.01)
            engine.go_on.set()

        waiting = threading.Thread(target=let_it_start)
        waiting.start()
        found.collect("1")
        waiting.join(SECONDS)
    assert engine.thread.name == "beside"


# ---- the mark fails -------------------------------------------------------------------------------------
def collect_and_fail(lake: MemoryLake, run: Run, error: BaseException) -> None:
    """A collection whose mark fails as a repository does, or as by Ctrl-C."""
    if isinstance(error, Exception):
        lake.faults.log[lake.history.reference("main").commit_id or ""] = error

    def tell(phase: str, done: int, total: int | None) -> None:
        if not isinstance(error, Exception):
            raise error

    with pytest.raises(type(error)):
        GcService(GcParameters(default_cutoff="NONE")).run(replace(run, progress=tell))


@pytest.mark.parametrize("error", INTERRUPTS, ids=["fault", "interrupt"])
def test_a_mark_that_fails_does_not_wait_for_the_engine(
    lake: MemoryLake, services: LakeServices, error: BaseException
) -> None:
    with Starting() as engine:
        found = with_engine(lake, services, engine)
        collect_and_fail(lake, found.run(), error)
        assert not engine.go_on.is_set()
        assert [LiveSetStatus.IDENTIFY_FAILED] == statuses(services)
        engine.go_on.set()
        engine.thread.join(SECONDS)
    assert not engine.thread.is_alive()


@pytest.mark.parametrize("error", INTERRUPTS, ids=["fault", "interrupt"])
def test_an_engine_that_starts_when_the_process_ends_is_closed_as_soon_as_it_is_open(
    lake: MemoryLake, services: LakeServices, error: BaseException
) -> None:
    opening = Opening()
    found = with_engine(lake, services, services.engine)  # type: ignore[arg-type]
    with resources_with(found, opening) as resources:
        resources.waits_for_engine = False
        collect_and_fail(lake, replace(found.run(), resources=resources), error)
        assert opening.begun.wait(SECONDS)
    assert [] == opening.engines
    opening.go_on.set()
    assert opening.ended.wait(SECONDS)
    (engine,) = opening.engines
    assert engine.closed.is_set()
    assert not engine.begun.is_set()


def test_an_engine_that_nobody_waited_for_serves_the_next_run(lake: MemoryLake, services: LakeServices) -> None:
    opening = Opening()
    found = with_engine(lake, services, services.engine)  # type: ignore[arg-type]
    with resources_with(found, opening) as resources:
        run = replace(found.run(), resources=resources)
        collect_and_fail(lake, run, RepositoryError("the log is broken"))
        lake.faults.log.clear()
        opening.go_on.set()
        GcService(GcParameters(default_cutoff="NONE")).run(replace(run, progress=no_progress))
        (engine,) = opening.engines
        assert not engine.closed.is_set()
    assert engine.closed.is_set()


def test_resources_that_were_closed_while_an_engine_was_opened_open_another_one(services: LakeServices) -> None:
    opening, errors = Opening(), list[Exception]()
    with resources_with(services, opening) as resources:
        resources.waits_for_engine = False

        def open_it() -> None:
            try:
                _ = resources.engine
            except ConfigurationError as error:
                errors.append(error)

        thread = threading.Thread(target=open_it)
        thread.start()
        assert opening.begun.wait(SECONDS)
        resources.close()
        opening.go_on.set()
        thread.join(SECONDS)
        assert ["the collector was closed while its engine was starting"] == [str(error) for error in errors]
        assert resources.engine is opening.engines[1]
        assert [True, False] == [engine.closed.is_set() for engine in opening.engines]
    assert opening.engines[1].closed.is_set()


def test_resources_wait_for_an_engine_that_is_being_opened_and_close_it(services: LakeServices) -> None:
    opening = Opening()
    resources = resources_with(services, opening)
    using = threading.Thread(target=lambda: resources.engine)
    using.start()
    assert opening.begun.wait(SECONDS)
    closing = threading.Thread(target=resources.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    opening.go_on.set()
    closing.join(SECONDS)
    (engine,) = opening.engines
    assert engine.closed.is_set()
    using.join(SECONDS)


def test_a_thread_that_comes_late_opens_no_engine_of_closed_resources(services: LakeServices) -> None:
    opening = Opening()
    resources = resources_with(services, opening)
    opened = resources.opened
    resources.close()
    with pytest.raises(ConfigurationError, match="closed before its engine was started"):
        resources.engine_of(opened)
    assert not opening.begun.is_set()


def resources_with(services: LakeServices, engine: Opening) -> Resources:
    return Resources(
        repository=lambda: nullcontext(services.repository), store=lambda: nullcontext(services.store), engine=engine
    )


# ---- the engine fails -----------------------------------------------------------------------------------
def collect_without(services: LakeServices, engine: Starting, *, after: int) -> Run:
    """A collection of which so many references are walked when the engine fails."""
    seen = [0]

    def tell(phase: str, done: int, total: int | None) -> None:
        seen[0] += 1
        if seen[0] == after:
            assert engine.begun.wait(SECONDS)
            engine.go_on.set()
            engine.thread.join(SECONDS)

    run = replace(services, engine=engine).run(progress=tell)
    with pytest.raises(type(engine.error or NO_JAVA), match=str(engine.error)):
        GcService(GcParameters(default_cutoff="NONE", identify_parallelism=1)).run(run)
    return run


def branches(lake: MemoryLake, number: int) -> None:
    table(lake, "t")
    for each in range(number - 1):
        lake.branch(f"b{each}", at="main")


def test_an_engine_that_does_not_start_leaves_no_live_set_of_a_mark_that_is_under_way(
    lake: MemoryLake, services: LakeServices
) -> None:
    branches(lake, 4)
    with Starting(NO_JAVA) as engine:
        run = collect_without(services, engine, after=2)
    assert [] == statuses(services)
    assert (None, []) == (run.report.live_set_id, run.report.repositories)


@pytest.mark.parametrize("after", [3, 4])
def test_a_mark_that_has_walked_all_references_is_finished_without_the_engine(
    lake: MemoryLake, services: LakeServices, after: int
) -> None:
    branches(lake, 4)
    with Starting(NO_JAVA) as engine:
        run = collect_without(services, engine, after=after)
    assert [LiveSetStatus.IDENTIFY_SUCCESS] == statuses(services)
    services.sweep(UUID(run.report.live_set_id))
    assert [LiveSetStatus.EXPIRY_SUCCESS] == statuses(services)


def test_live_sets_that_were_marked_before_it_stay(lake: MemoryLake, services: LakeServices) -> None:
    branches(lake, 4)
    earlier = services.mark("NONE")
    with Starting(NO_JAVA) as engine:
        collect_without(services, engine, after=1)
    assert [earlier] == [each.id for each in services.store.live_sets()]


def test_of_several_repositories_none_keeps_its_live_set_where_one_is_under_way(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    branches(lake, 2)
    branches(beside, 3)
    with Starting(NO_JAVA) as engine:
        collect_without(together, engine, after=3)
    assert [] == statuses(together)


def test_s06_what_is_known_of_a_repository_that_cannot_be_read_stays(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    branches(lake, 1)
    branches(beside, 3)
    together.mark("NONE")
    earlier = {each.id: each.status for each in together.store.live_sets()}
    lake.faults.log[lake.history.reference("main").commit_id or ""] = RepositoryError("the log is broken")
    with Starting(NO_JAVA) as engine:
        collect_without(together, engine, after=2)
    now = {each.id: each.status for each in together.store.live_sets()}
    assert earlier == {id_: status for id_, status in now.items() if id_ in earlier}
    assert [LiveSetStatus.IDENTIFY_FAILED] == [status for id_, status in now.items() if id_ not in earlier]


def test_an_engine_that_cannot_be_reached_is_not_taken_for_a_repository(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    branches(lake, 3)
    branches(beside, 3)
    with Starting(ServiceUnavailableError("the cluster is down")) as engine:
        run = collect_without(together, engine, after=1)
    assert {} == run.report.unreadable
    assert [] == statuses(together)
