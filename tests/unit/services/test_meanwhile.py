"""The engine starts while the mark runs; whatever is wrong with either is said."""

from __future__ import annotations

import threading

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.services.meanwhile import checked_by

SECONDS = 60


class Starting(LocalEngine):
    """Takes its time, and fails if it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(workers=1)
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.error = error
        self.thread = ""

    def check(self) -> None:
        if not self.thread:
            self.thread = threading.current_thread().name
            self.begun.set()
            assert self.go_on.wait(SECONDS)
            if self.error is not None:
                raise self.error


def with_engine(lake: MemoryLake, services: LakeServices, engine: LocalEngine) -> LakeServices:
    lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("a.parquet").version))
    return LakeServices(repository=services.repository, store=services.store, engine=engine, clock=services.clock)


def test_the_mark_runs_before_the_engine_is_there(lake: MemoryLake, services: LakeServices) -> None:
    with Starting() as engine:
        found = with_engine(lake, services, engine)

        def let_it_start() -> None:
            assert engine.begun.wait(SECONDS)
            while not any(each.status is LiveSetStatus.IDENTIFY_SUCCESS for each in services.store.live_sets()):
                assert not engine.go_on.wait(0.01)
            engine.go_on.set()

        waiting = threading.Thread(target=let_it_start)
        waiting.start()
        found.collect("1")
        waiting.join(SECONDS)
    assert engine.thread == "beside"


def test_an_engine_that_does_not_start_ends_the_run(lake: MemoryLake, services: LakeServices) -> None:
    with Starting(ConfigurationError("no Java")) as engine:
        engine.go_on.set()
        with pytest.raises(ConfigurationError, match="no Java"):
            with_engine(lake, services, engine).collect("1")


def test_whoever_tells_progress_hears_of_it_first() -> None:
    told: list[tuple[str, int, int | None]] = []
    checked_by(lambda: None, lambda *said: told.append(said))("mark", 1, 2)
    assert told == [("mark", 1, 2)]

    def failed() -> None:
        raise ConfigurationError("no Java")

    with pytest.raises(ConfigurationError, match="no Java"):
        checked_by(failed, lambda *said: told.append(said))("mark", 2, 2)
    assert len(told) == 1
