"""How many requests to a bucket are in flight, and how long a refused one waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from nessie_gc_iceberg_files.limits import Limits, Patience, StoppedError, limits_of

KEY = "wh/db/t/data/f"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def throttle(limits, requests=1):
    for _ in range(requests):
        with limits.slot(KEY):
            limits.throttled()


def test_no_more_are_in_flight_than_may_be():
    limits, at_once, most, lock = Limits(3), [0], [0], threading.Lock()

    def ask(number):
        with limits.slot(f"wh/db/t{number}/"):
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            threading.Event().wait(0.01)
            with lock:
                at_once[0] -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(ask, range(24)))
    assert (3, 0) == (most[0], at_once[0])


def test_throttling_lowers_the_limit_of_its_folders_only_and_success_raises_it_again():
    limits = Limits(16, Clock())
    throttle(limits)
    assert 1 == limits.allowed(KEY)
    assert 16 == limits.allowed("wh/db/other/data/f")
    for _ in range(200):
        with limits.slot("wh/db/t/metadata/f"):
            pass
    assert 16 == limits.allowed(KEY)


def test_requests_of_one_crowd_lower_the_limit_once():
    limits, ready = Limits(16, Clock()), threading.Barrier(10)

    def ask(_):
        with limits.slot(KEY):
            ready.wait(10)
            limits.throttled()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(ask, range(10)))
    assert 7 == limits.allowed(KEY)


def test_one_request_may_always_be_in_flight():
    limits = Limits(4, Clock())
    throttle(limits, 50)
    assert 1 == limits.allowed(KEY)


def test_throttling_outside_of_a_slot_lowers_nothing():
    limits = Limits(4)
    limits.throttled()
    assert 4 == limits.allowed(KEY)


def test_a_caller_that_was_stopped_begins_nothing():
    limits, stopped = Limits(4), threading.Event()
    stopped.set()
    with pytest.raises(StoppedError), limits.slot(KEY, stopped):
        pytest.fail("it began")


def test_limits_are_those_of_a_bucket_however_many_stores_ask_for_it():
    first = limits_of("http://a", "lake", 4)
    assert first is limits_of("http://a", "lake", 4)
    assert first is not limits_of("http://b", "lake", 4)
    assert first is not limits_of("http://a", "other", 4)


def test_limits_forget_folders_that_nobody_uses():
    limits = Limits(4, Clock())
    throttle(limits)
    for number in range(3000):
        with limits.slot(f"wh/db/t{number}/"):
            pass
    assert len(limits._lanes) <= 1000


def test_waits_grow_have_jitter_and_end():
    waited = []

    class Seen(threading.Event):
        def wait(self, timeout=None):
            waited.append(timeout)
            return False

    patience = Patience(3.0, Seen(), jitter=lambda: 1.0)
    while patience.wait():
        pass
    assert [0.1, 0.2, 0.4, 0.8] == pytest.approx(waited)
    assert not Patience(0.0).wait()


def test_a_wait_ends_when_its_caller_is_stopped():
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(StoppedError):
        Patience(60, stopped).wait()
