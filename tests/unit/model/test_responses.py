from __future__ import annotations

import socket
import threading

import pytest

from nessie_gc_core.errors import LimitExceededError, RepositoryError
from nessie_gc_core.model.responses import Deadline, PageCount, ResponseLimits, joined, watch

LIMITS = ResponseLimits(max_response_bytes=10, response_timeout_seconds=0.1, max_pages=4, max_empty_pages=2)


def test_parts_are_joined_up_to_the_limit_and_no_more_are_read() -> None:
    parts = iter([b"12345", b"67890", b"1", b"2"])

    assert b"1234567890" == joined([b"12345", b"67890"], "it", LIMITS)
    with pytest.raises(LimitExceededError, match="it has more than 10 bytes"):
        joined(parts, "it", LIMITS)
    assert b"2" == next(parts)


def test_a_deadline_ends_the_connection_that_is_waited_for() -> None:
    reading, writing = socket.socketpair()
    limit = pytest.raises(LimitExceededError, match=r"it took longer than 0\.1 s")
    with reading, writing, limit, Deadline("it", LIMITS):
        watch(reading)
        assert b"" == reading.recv(1)


def test_a_connection_that_comes_after_the_deadline_is_ended_at_once() -> None:
    reading, writing = socket.socketpair()
    with reading, writing, pytest.raises(LimitExceededError), Deadline("it", LIMITS) as deadline:
        while not deadline.expired:
            threading.Event().wait(0.01)
        watch(reading)
        assert b"" == reading.recv(1)


def test_a_connection_of_a_response_in_time_is_left_alone() -> None:
    reading, writing = socket.socketpair()
    with reading, writing:
        with Deadline("it", LIMITS):
            watch(reading)
        threading.Event().wait(0.2)
        writing.send(b"x")
        assert b"x" == reading.recv(1)


@pytest.mark.parametrize(
    ("pages", "error"),
    [
        ([("a", 1), ("a", 1)], "goes in circles"),
        ([("a", 1), ("b", 1), ("a", 1)], "goes in circles"),
        ([("a", 0), ("b", 0), ("c", 0)], "more than 2 empty pages"),
        ([("a", 1), ("b", 1), ("c", 1), ("d", 1)], "more than 4 pages"),
    ],
)
def test_pages_that_have_no_end_are_an_error(pages: list[tuple[str, int]], error: str) -> None:
    count = PageCount("it", LIMITS)
    for token, rows in pages[:-1]:
        count.follow(token, rows)

    with pytest.raises(RepositoryError, match=error):
        count.follow(*pages[-1])


def test_empty_pages_between_others_are_counted_anew() -> None:
    count = PageCount("it", ResponseLimits(max_empty_pages=1))
    for number in range(10):
        count.follow(f"{number}", number % 2)
