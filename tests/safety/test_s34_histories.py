from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.mark import mark
from nessie_gc_core.algorithms.moved import find_moved
from nessie_gc_core.algorithms.visited import ExactVisited, ExactVisitedOptions, NoneVisited
from nessie_gc_core.algorithms.walk import MAX_PARKED_STREAMS, CommitWalker
from nessie_gc_core.connectors import RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model import ICEBERG_TABLE, ContentVersion, LogEntry, Operation, OperationKind, Reference
from nessie_gc_core.model import ReferenceKind as Kind
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import Reach, ReferencePolicies

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICIES = ["NONE", "3", "P10D"]


@dataclass(frozen=True)
class Said:
    """What the server says at one place of a log."""

    commit: str
    parent: str | None


class LyingServer(RepositoryConnector):
    """Whatever it says of one commit, it says of it in every log."""

    name = "lying"

    def __init__(self, logs: Mapping[str, Sequence[Said]], *, more: Sequence[Reference] = ()) -> None:
        super().__init__(ConnectorOptions())
        self.logs = logs
        self.more = more

    def identity(self) -> str:
        return "http://lying/api/v2"

    def references(self) -> Iterator[Reference]:
        for name, log in self.logs.items():
            yield branch(name, log[0].commit if log else "c9")
        yield from self.more

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        for number, said in enumerate(self.logs[reference.name]):
            version = ContentVersion(
                content_id=said.commit,
                content_type=ICEBERG_TABLE,
                metadata_location=f"s3://b/t/{said.commit}.json",
                snapshot_id=1,
                content_key="t",
                commit_id=said.commit,
            )
            put = Operation(kind=OperationKind.PUT, content_key="t", content=version)
            time = NOW - timedelta(hours=number)
            yield LogEntry(commit_id=said.commit, parent_id=said.parent, commit_time=time, operations=(put,))

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        yield from ()


def branch(name: str, head: str | None) -> Reference:
    return Reference(name=name, kind=Kind.BRANCH, commit_id=head)


def marked(
    server: LyingServer, policy: str = "NONE", *, visited: VisitedDeduplicator | None = None, parallelism: int = 1
) -> set[str]:
    live: set[str] = set()
    mark(
        server,
        ReferencePolicies.parse(policy, reference_time=NOW),
        visited or ExactVisited(ExactVisitedOptions()),
        lambda versions: live.update(version.content_id for version in versions),
        references=list(server.references()),
        parallelism=parallelism,
    )
    return live


def chain(*commits: str) -> list[Said]:
    """A log in which each commit names the next as its parent, and the last one names none."""
    return [Said(one, two) for one, two in zip(commits, [*commits[1:], None], strict=True)]


BROKEN = {
    "its own parent": [Said("c3", "c3"), *chain("c2", "c1")],
    "its own parent, doubled": [Said("c3", "c3"), Said("c3", "c3"), *chain("c2", "c1")],
    "a doubled entry": [Said("c3", "c2"), Said("c2", "c1"), Said("c2", "c1"), Said("c1", None)],
    "a doubled entry that says so": [Said("c3", "c2"), Said("c2", "c2"), Said("c2", "c1"), Said("c1", None)],
    "a circle": [Said("c3", "c2"), Said("c2", "c1"), Said("c1", "c3")],
    "a gap": [Said("c3", "c2"), Said("c1", None)],
    "an early end": [Said("c3", "c2"), Said("c2", "c1")],
    "an empty parent": [Said("c3", "c2"), Said("c2", "")],
    "the wrong order": [Said("c3", "c2"), Said("c1", None), Said("c2", "c1")],
    "more after the end": [Said("c3", "c2"), Said("c2", None), Said("c1", None)],
    "nothing": [],
}
"""Logs of a branch whose head is c3; of an empty one, c9."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("visited", ["exact", "none"])
@pytest.mark.parametrize("how", BROKEN)
def test_s34_a_history_that_is_broken_fails_the_mark(how: str, visited: str, policy: str) -> None:
    remembers = NoneVisited(ConnectorOptions()) if visited == "none" else None

    with pytest.raises(RepositoryError, match="http://lying/api/v2: the history of 'main' is broken") as caught:
        marked(LyingServer({"main": BROKEN[how]}), policy, visited=remembers)

    assert "\n" not in str(caught.value)


def test_s34_a_history_that_is_whole_is_marked_to_its_end() -> None:
    assert {"c1", "c2", "c3"} == marked(LyingServer({"main": chain("c3", "c2", "c1"), "dev": chain("c2", "c1")}))


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("policy", POLICIES)
def test_s34_a_circle_of_which_each_log_shows_a_part_fails_the_mark(policy: str, parallelism: int) -> None:
    """Each walk hands over to the other where it comes to its commits, and neither log is read further."""
    server = LyingServer({"main": [Said("a", "b"), Said("b", "a")], "dev": [Said("b", "a"), Said("a", "b")]})

    with pytest.raises(RepositoryError, match="is broken: it comes to commit"):
        marked(server, policy, parallelism=parallelism)


def test_s34_a_circle_of_which_no_log_shows_two_ends_fails_the_mark() -> None:
    """One log is closed at its cut-off; another one stops where that had begun, at a commit that is known."""
    circle = [Said("a", "b"), Said("b", "c"), Said("c", "d"), Said("d", "a")]
    others = {f"x{number}": chain(f"x{number}", f"y{number}", f"z{number}") for number in range(MAX_PARKED_STREAMS)}
    server = LyingServer({"main": circle, **others, "dev": [*circle[2:], *circle[:2]]})
    walker = CommitWalker(server, ExactVisited(ExactVisitedOptions()), lambda versions: None)
    heads = list(server.references())
    for head in heads:
        walker.walk(head, Reach(commits=2))

    with pytest.raises(RepositoryError, match="is broken: it comes to commit a again"):
        walker.check(heads)


def test_s34_a_walk_that_is_alone_does_not_go_round_for_ever() -> None:
    """Without room in the graph, nothing but the log itself shows that it comes to a commit again."""
    walker = CommitWalker(
        LyingServer({"main": BROKEN["a circle"]}), NoneVisited(ConnectorOptions()), lambda versions: None,
        graph_capacity=0,
    )  # fmt: skip

    with pytest.raises(RepositoryError, match="is broken"):
        walker.walk(branch("main", "c3"), Reach(everything=True))


def test_s34_a_reference_that_comes_twice_is_an_error() -> None:
    server = LyingServer({"main": chain("c1")}, more=[branch("main", "c2")])
    policies = ReferencePolicies.parse("NONE", reference_time=NOW)

    with pytest.raises(RepositoryError, match="lists the reference 'main' twice"):
        find_moved(server, [], policies, ExactVisited(ExactVisitedOptions()), parallelism=1)


def test_s34_what_all_commits_say_names_the_history_that_is_broken() -> None:
    commits = AllCommits(repository=LyingServer({"main": BROKEN["a circle"], "dev": chain("d1")}), parallelism=1)

    found = list(commits.of_each(lambda reference, entries: (entry.commit_id for entry in entries)))

    assert "d1" in found
    assert ["main: http://lying/api/v2: the history of 'main' is broken: it comes to commit c3 again; check the "
            "server and any proxy in front of it"] == commits.problems  # fmt: skip
