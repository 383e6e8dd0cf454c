"""Lakes to which a lot happens: none loses a file, and none keeps garbage without a reason (S6, S18, S20, S29 to S32).

Two repositories of one live-set store, quarantine, branches at old commits, percent-encoded and other spellings,
foreign formats, contents that cannot be read and files that they took over, and contents that are set aside.
Each group of lakes has its seed: 2 groups in every run, 10,000 lakes in ``nox -s thorough``; EVENTFUL_LAKES says how
many lakes otherwise. Of a lake that goes wrong, Hypothesis finds a short history, and prints its steps.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable

import pytest
from eventful_lakes import EventfulLake
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from nessie_gc_memory import MemoryLake
from small_engine import SmallEngine
from thoroughness import THOROUGH

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine

LAKES = int(os.environ.get("EVENTFUL_LAKES", "10000" if THOROUGH else "50"))
GROUP = 25
"""Lakes of one test, which share an engine."""
FIRST = int(os.environ.get("FIRST_EVENTFUL_LAKE", "0"))


def check(choose: Callable[..., object], engine: Engine) -> None:
    lake = EventfulLake(choose, engine)  # type: ignore[arg-type]
    try:
        wrong = lake.live()
    finally:
        for name in lake.names:
            MemoryLake.forget(name)
        for step in lake.steps:
            note(step)
    assert [] == wrong


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("group", range(FIRST, FIRST + LAKES, GROUP))
def test_no_eventful_lake_loses_a_file_or_keeps_garbage_without_a_reason(group: int) -> None:
    @seed(group)
    @settings(
        max_examples=GROUP,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def lives(chance: random.Random) -> None:
        check(chance.choice, engine)

    with SmallEngine() as engine:
        lives()


@pytest.mark.parametrize("number", range(4))
def test_the_local_engine_does_the_same_to_an_eventful_lake(number: int) -> None:
    lived = [steps_of(number, engine) for engine in (SmallEngine(), LocalEngine(workers=2))]
    assert lived[0] == lived[1]


def steps_of(number: int, engine: Engine) -> list[str]:
    """The steps of a lake; in every process, lakes have other names."""
    with engine:
        lake = EventfulLake(random.Random(number).choice, engine)
        assert [] == lake.live()
    for name in lake.names:
        MemoryLake.forget(name)
    return [re.sub(r"(memory:)?(history|beside)-[-0-9a-f]+", "", step) for step in lake.steps]
