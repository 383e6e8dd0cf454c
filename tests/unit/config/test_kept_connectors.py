from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from nessie_gc_core import ConnectorOptions, hookimpl, option, options
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.kept_connectors import KeptConnectors
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.plugins import PluginRegistry


@options
class Named(ConnectorOptions):
    at: str = option("", help="where")


class Single(FileLister):
    name = "single"
    schemes = frozenset({"single"})
    Options = Named
    closed = 0

    def list_files(self, location):
        return iter(())

    def close(self):
        self.closed += 1


class Shared(Single):
    shareable = True


@pytest.fixture
def kept() -> KeptConnectors:
    return KeptConnectors()


def test_a_connector_is_kept_for_the_next_task(kept: KeptConnectors) -> None:
    for connector in (Single, Shared):
        with kept.used(connector, {"at": "a"}) as first:
            pass
        with kept.used(connector, {"at": "a"}) as again, kept.used(connector, {"at": "b"}) as other:
            assert first is again
            assert first is not other
        assert 0 == first.closed


def test_only_a_shareable_one_is_used_by_two_at_once(kept: KeptConnectors) -> None:
    with kept.used(Shared, {}) as one, kept.used(Shared, {}) as other:
        assert one is other
    with kept.used(Single, {}) as one, kept.used(Single, {}) as other:
        assert one is not other


def test_threads_that_come_at_once_make_one(kept: KeptConnectors) -> None:
    ready = threading.Barrier(8)

    def take(_: int) -> int:
        ready.wait()
        with kept.used(Shared, {}) as connector:
            return id(connector)

    with ThreadPoolExecutor(8) as pool:
        assert 1 == len(set(pool.map(take, range(8))))


def test_what_nobody_uses_is_closed_and_made_again(kept: KeptConnectors) -> None:
    with ExitStack() as stack:
        used = stack.enter_context(kept.used(Single, {}))
        with kept.used(Single, {}) as idle:
            pass
        kept.close_idle()
        assert (0, 1) == (used.closed, idle.closed)
    kept.close_idle()
    kept.close_idle()
    assert 1 == used.closed
    with kept.used(Single, {}) as new:
        assert new not in (used, idle)


def test_what_was_used_a_moment_ago_stays(kept: KeptConnectors) -> None:
    with kept.used(Shared, {"at": "a"}) as first:
        pass
    with kept.used(Shared, {"at": "b"}):
        assert 0 == first.closed


def test_closing_from_the_garbage_collector_waits_for_nobody(kept: KeptConnectors) -> None:
    """A run that is collected as garbage closes what is idle, maybe while its own thread takes a connector."""

    class Garbage:
        pass

    garbage = Garbage()
    weakref.finalize(garbage, kept.close_idle)

    class Slow(Shared):
        def __init__(self, given: ConnectorOptions) -> None:
            nonlocal garbage
            super().__init__(given)
            garbage = None  # type: ignore[assignment]  # nobody has it any more
            gc.collect()

    with kept.used(Slow, {}) as made:
        assert 0 == made.closed


def test_a_copy_of_the_process_makes_its_own(kept: KeptConnectors) -> None:
    with kept.used(Shared, {}) as first:
        kept.forget()
        with kept.used(Shared, {}) as other:
            assert first is not other


def test_one_that_cannot_be_closed_is_said_and_harms_nobody(
    kept: KeptConnectors, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck(Single):
        name = "stuck"

        def close(self):
            raise OSError("it is stuck")

    with kept.used(Stuck, {}), kept.used(Single, {}) as other:
        pass
    kept.close_idle()
    assert 1 == other.closed
    assert "the connector 'stuck' cannot be closed: it is stuck" in caplog.text


def test_a_task_that_lists_in_several_threads_has_a_lister_for_each() -> None:
    registry = PluginRegistry()
    registry.register(SimpleNamespace(nessie_gc_register_file_lister=hookimpl(lambda: Single)), name="single")
    with OpenConnectors(ConnectorChoice(plugins=registry)) as connectors:
        with connectors.lister_alone("single://a/") as one, connectors.lister_alone("single://a/") as other:
            assert one is not other
        assert connectors.lister("single://a/") is connectors.lister("single://b/")
