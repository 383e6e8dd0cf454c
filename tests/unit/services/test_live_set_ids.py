from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.errors import ConfigurationError, LiveSetNotFoundError
from nessie_gc_core.services.live_set_ids import find_live_set
from nessie_gc_core.services.stored_live_sets import LiveSetService

NOW = datetime(2026, 1, 31, tzinfo=UTC)
IDS = [uuid.UUID(f"abcd{number:04x}-0000-4000-8000-000000000000") for number in range(7)]


@pytest.fixture
def store() -> MemoryLiveSetStore:
    """A store with seven live sets whose ids begin alike."""
    store = MemoryLiveSetStore.from_options({})
    for number, id_ in enumerate(IDS):
        store.start_identify(id_, repository="r", created=NOW + timedelta(minutes=number))
    return store


@pytest.mark.parametrize("text", [str(IDS[3]), IDS[3].hex, "abcd0003", "ABCD0003-00", "abcd-0003"])
def test_a_live_set_is_named_by_its_id_or_its_first_characters(store: MemoryLiveSetStore, text: str) -> None:
    assert IDS[3] == find_live_set(store, text)


def test_whether_a_whole_id_exists_is_not_asked(store: MemoryLiveSetStore) -> None:
    id_ = uuid.uuid4()
    assert id_ == find_live_set(store, id_) == find_live_set(store, str(id_))


@pytest.mark.parametrize("text", ["", "abc", "ab-c", "xyz0", "nessie-gc", str(IDS[0]) + "0", "../abcd"])
def test_what_cannot_be_an_id_is_refused(store: MemoryLiveSetStore, text: str) -> None:
    with pytest.raises(
        ConfigurationError, match="is neither the id of a live set nor the first 4 or more characters of one"
    ):
        find_live_set(store, text)


def test_first_characters_of_none_are_refused(store: MemoryLiveSetStore) -> None:
    with pytest.raises(LiveSetNotFoundError, match="the id of no live set begins with 'ffff'"):
        find_live_set(store, "ffff")


def test_first_characters_of_several_are_refused_with_the_candidates(store: MemoryLiveSetStore) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_live_set(store, "abcd")
    names = ", ".join(str(id_) for id_ in IDS[:5])
    assert f"the ids of 7 live sets begin with 'abcd': {names} and 2 more; give more of the id" == str(caught.value)


def test_python_takes_the_first_characters_everywhere(store: MemoryLiveSetStore) -> None:
    service = LiveSetService(store)
    assert IDS[2] == service.find("abcd0002")
    assert IDS[2] == service.details("abcd0002").live_set.id
    assert [] == service.base_locations("abcd0002")
    assert IDS[2] == service.delete("abcd0002").id


def test_live_sets_are_listed_by_status_and_number(store: MemoryLiveSetStore) -> None:
    store.finish_identify(IDS[1], at=NOW + timedelta(hours=1), references_listed=NOW)
    service = LiveSetService(store)
    assert [IDS[1]] == [each.id for each in service.all(status=["identify_success"])]
    assert [IDS[6], IDS[5]] == [each.id for each in service.all(limit=2)]
    with pytest.raises(ConfigurationError, match=r"a `status` is one of IDENTIFY_IN_PROGRESS.*'swept'"):
        service.all(status=["swept"])
