"""A state machine that drives a live-set store and a plain model of it side by side."""

# ruff: noqa: D102 - rules are named for what they do
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast
from uuid import UUID, uuid4

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model.live_sets import FileDeletion, LiveSetStatus, SeenContent
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.live_set_samples import StoreFixtures

_BOUNDS = (datetime(1970, 1, 1), datetime(2262, 1, 1))  # noqa: DTZ001 - Hypothesis adds the zone
times = st.datetimes(*_BOUNDS, timezones=st.just(UTC))
"""Instants with microseconds."""
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
"""Text that every store keeps."""
versions = st.builds(
    ContentVersion,
    content_id=texts,
    content_type=st.sampled_from(["ICEBERG_TABLE", "ICEBERG_VIEW", "OTHER"]),
    metadata_location=st.none() | texts,
    snapshot_id=st.none() | st.integers(-(2**63), 2**63 - 1),
    content_key=texts,
    commit_id=texts,
    commit_time=st.none() | times,
    location=st.none() | texts,
)
deletions = st.builds(
    FileDeletion,
    location=texts.map(lambda text: text + "/"),
    path=texts,
    size=st.none() | st.integers(0, 2**62),
    modified=st.none() | times,
)

_MOVES = {
    "finish": (LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_SUCCESS),
    "fail": (LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_FAILED),
    "expire": (LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_IN_PROGRESS),
    "finish expiry": (LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_SUCCESS),
    "fail expiry": (LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED),
}


@dataclass(slots=True)
class _Model:
    """What one live set should be."""

    created: datetime
    status: LiveSetStatus = LiveSetStatus.IDENTIFY_IN_PROGRESS
    error: str | None = None
    versions: dict[object, ContentVersion] = field(default_factory=dict)
    locations: set[tuple[str, str]] = field(default_factory=set)
    deletions: dict[tuple[str, str], FileDeletion] = field(default_factory=dict)


class LiveSetStoreMachine(RuleBasedStateMachine):
    """Calls a store in arbitrary ways, and compares it with the model after each step.

    Examples share the store; each has its own repository and looks at its own live sets only.
    """

    ids: Bundle[UUID] = Bundle("ids")

    def __init__(self, store: LiveSetStore) -> None:
        super().__init__()
        self.store = store
        self.repository = f"machine/{uuid4()}"
        self.model: dict[UUID, _Model] = {}
        self.seen: dict[tuple[str, str], SeenContent] = {}

    @rule(target=ids, created=times)
    def start(self, created: datetime) -> UUID:
        live_set_id = uuid4()
        self.store.start_identify(live_set_id, repository=self.repository, created=created)
        self.model[live_set_id] = _Model(created)
        return live_set_id

    @rule(live_set_id=ids, move=st.sampled_from(sorted(_MOVES)), at=times, reason=texts.filter(bool))
    def move(self, live_set_id: UUID, move: str, at: datetime, reason: str) -> None:
        needed, reached = _MOVES[move]
        failure = reason if move.startswith("fail") else None
        act: dict[str, Callable[[], None]] = {
            "finish": lambda: self.store.finish_identify(live_set_id, at=at),
            "fail": lambda: self.store.finish_identify(live_set_id, at=at, failure=reason),
            "expire": lambda: self.store.start_expire(live_set_id, at=at),
            "finish expiry": lambda: self.store.finish_expire(live_set_id, at=at),
            "fail expiry": lambda: self.store.finish_expire(live_set_id, at=at, failure=reason),
        }
        if self._allowed(act[move], live_set_id, {needed}):
            self.model[live_set_id].status = reached
            self.model[live_set_id].error = failure

    @rule(live_set_id=ids, at=times)
    def resume(self, live_set_id: UUID, at: datetime) -> None:
        allowed = {LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED}
        if self._allowed(lambda: self.store.start_expire(live_set_id, at=at, resume=True), live_set_id, allowed):
            self.model[live_set_id].status = LiveSetStatus.EXPIRY_IN_PROGRESS
            self.model[live_set_id].error = None

    @rule(live_set_id=ids, added=st.lists(versions, min_size=1, max_size=5))
    def add_versions(self, live_set_id: UUID, added: Sequence[ContentVersion]) -> None:
        new: list[int] = []
        act = functools.partial(lambda: new.append(self.store.add_content_versions(live_set_id, added)))
        if self._allowed(act, live_set_id, {LiveSetStatus.IDENTIFY_IN_PROGRESS}):
            known = self.model[live_set_id].versions
            before = len(known)
            for version in added:
                known.setdefault(version.identity, version)
            assert [len(known) - before] == new

    @rule(live_set_id=ids, content_id=texts, added=st.lists(texts, min_size=1, max_size=4))
    def add_locations(self, live_set_id: UUID, content_id: str, added: Sequence[str]) -> None:
        if live_set_id not in self.model:
            return
        known = self.model[live_set_id].locations
        pairs = [(content_id, location) for location in added]
        new = {*pairs} - known
        assert len(new) == self.store.add_base_locations(live_set_id, pairs)
        known |= new

    @rule(live_set_id=ids, added=st.lists(deletions, min_size=1, max_size=5))
    def defer(self, live_set_id: UUID, added: Sequence[FileDeletion]) -> None:
        act = functools.partial(self.store.add_file_deletions, live_set_id, added)
        if self._allowed(act, live_set_id, {LiveSetStatus.EXPIRY_IN_PROGRESS}):
            for deletion in added:
                self.model[live_set_id].deletions.setdefault((deletion.location, deletion.path), deletion)

    @rule(live_set_id=ids, position=st.integers(0, 20))
    def delete_deferred(self, live_set_id: UUID, position: int) -> None:
        if live_set_id not in self.model:
            return
        known = self.model[live_set_id].deletions
        done = [known.pop(name) for name in sorted(known)[position:]]
        assert len(done) == self.store.remove_file_deletions(live_set_id, done)

    @rule(live_set_id=ids)
    def delete(self, live_set_id: UUID) -> None:
        if self._allowed(lambda: self.store.delete(live_set_id), live_set_id, set(LiveSetStatus)):
            del self.model[live_set_id]

    @rule(content_id=texts, location=texts, first=times, last=times)
    def see(self, content_id: str, location: str, first: datetime, last: datetime) -> None:
        content = SeenContent(
            content_id=content_id, content_type="T", location=location, first_seen=first, last_seen=last
        )
        self.store.register_contents(self.repository, [content])
        known = self.seen.get((content_id, location))
        self.seen[content_id, location] = content if known is None else replace(known, last_seen=last)

    def _allowed(self, act: Callable[[], object], live_set_id: UUID, statuses: set[LiveSetStatus]) -> bool:
        """Acts, and asserts that it is refused exactly if the model says so; returns whether it was allowed."""
        model = self.model.get(live_set_id)
        try:
            act()
        except LiveSetNotFoundError:
            assert model is None
            return False
        except LiveSetStateError:
            assert model is not None
            assert model.status not in statuses
            return False
        assert model is not None
        assert model.status in statuses
        return True

    @invariant()
    def the_store_is_as_the_model(self) -> None:
        mine = [found for found in self.store.live_sets() if found.repository == self.repository]
        assert sorted(self.model) == sorted(found.id for found in mine)
        assert sorted((found.created for found in mine), reverse=True) == [found.created for found in mine]
        for live_set_id, model in self.model.items():
            found = self.store.get(live_set_id)
            assert (model.created, model.status, model.error) == (found.created, found.status, found.error_message)
            assert model.versions == {each.identity: each for each in self.store.content_versions(live_set_id)}
            contents = {version.content_id for version in model.versions.values()}
            assert contents == set(self.store.content_ids(live_set_id))
            assert (len(model.versions), len(contents)) == self.store.count_content_versions(live_set_id)
            assert model.locations == set(self.store.base_locations(live_set_id))
            assert model.deletions == {
                (each.location, each.path): each for each in self.store.file_deletions(live_set_id)
            }
        assert self.seen == {
            (each.content_id, each.location): each for each in self.store.seen_contents(self.repository)
        }

    def teardown(self) -> None:
        for live_set_id in self.model:
            with suppress(LiveSetNotFoundError):
                self.store.delete(live_set_id)


class MachineTests(StoreFixtures):
    """The state machine as a test."""

    @demands(
        "S17: a store does what a plain model of it does, in any order of calls. The steps below are the shortest "
        "that differ."
    )
    def test_it_behaves_like_a_plain_model_of_itself(self, store: LiveSetStore) -> None:
        def machine() -> LiveSetStoreMachine:
            return LiveSetStoreMachine(store)

        run_state_machine_as_test(
            cast("type[LiveSetStoreMachine]", machine),  # anything that makes a machine will do
            settings=settings(max_examples=40, stateful_step_count=25, deadline=None),
        )
