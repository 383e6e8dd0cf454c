from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from urllib.request import urlopen

import pytest
from loopback import Asked, LoopbackServer, Reply, json_reply, scripted
from nessie_gc_nessie import NessieConnector
from nessie_writer import NessieWriter, delete, namespace, put, table

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.repository import RepositoryConnectorContract
from nessie_gc_core.testing.servers import NessieServer, free_ports, skip_or_fail

SECRET = "s3cret-token"
PAGE_SIZE = 4
OPTIONS: dict[str, OptionValue] = {"authentication": "bearer", "token": SECRET, "page_size": PAGE_SIZE}
numbers = count()
Open = Callable[[], RepositoryConnector]


@pytest.fixture(scope="module")
def filled() -> Iterator[NessieServer]:
    """A server of its own, because the contract walks every reference from end to end."""
    with ExitStack() as stack:
        with skip_or_fail():
            server = stack.enter_context(NessieServer())
        with closing(NessieWriter(server.uri)) as writer:
            fill(writer)
        yield server


def fill(writer: NessieWriter) -> None:
    """More references, commits and keys than fit on a page; puts, deletes, a rename, a type without a reader."""
    heads = [writer.commit("main", namespace("n"), *(put(table(f"s3://b/{n}/1.json"), "n", f"t{n}") for n in range(9)))]
    ids = {entry["name"]["elements"][-1]: entry["contentId"] for entry in writer.entries(heads[0])}
    for number in range(4):
        changed = table(f"s3://b/{number}/2.json", snapshot_id=2, content_id=ids[f"t{number}"])
        heads.append(writer.commit("main", put(changed, "n", f"t{number}"), delete("n", f"t{number + 5}")))
    renamed = table("s3://b/0/2.json", snapshot_id=2, content_id=ids["t0"])
    heads.append(writer.commit("main", delete("n", "t0"), put(renamed, "n", "renamed")))
    for number, head in enumerate(heads):
        writer.create(f"release/{number}", kind="TAG", at=head)
    writer.create("feature/a.b", at=heads[3])
    writer.commit("feature/a.b", put({"type": "UDF", "metadataLocation": "s3://b/u/1.json", "versionId": "1"}, "u"))
    writer.create("empty")


@pytest.mark.server
class TestNessieConnector(RepositoryConnectorContract):
    @pytest.fixture
    def writer(self, filled: NessieServer) -> Iterator[NessieWriter]:
        with closing(NessieWriter(filled.uri)) as writer:
            yield writer

    @pytest.fixture
    def open_repository(self, filled: NessieServer) -> Callable[[], RepositoryConnector]:
        return lambda: NessieConnector.from_options({**OPTIONS, "uri": filled.uri})

    @pytest.fixture
    def other_addresses(self, filled: NessieServer) -> Sequence[Callable[[], RepositoryConnector]]:
        localhost = filled.uri.replace("127.0.0.1", "localhost")
        options = {"authentication": "bearer", "token": SECRET}
        uris = (f"{filled.uri}/", localhost)
        return [lambda uri=uri: NessieConnector.from_options({"uri": uri, **options}) for uri in uris]  # type: ignore[misc]

    @pytest.fixture
    def expected_references(self, writer: NessieWriter) -> Mapping[str, ReferenceKind]:
        tags = {f"release/{number}": ReferenceKind.TAG for number in range(6)}
        return dict.fromkeys(("main", "feature/a.b", "empty"), ReferenceKind.BRANCH) | tags

    @pytest.fixture
    def commit_once(self, writer: NessieWriter) -> Callable[[], str]:
        def commit() -> str:
            writer.commit("feature/a.b", put(table("s3://b/new/1.json"), f"new{next(numbers)}"))
            return "feature/a.b"

        return commit

    @pytest.fixture
    def new_branch(self, writer: NessieWriter) -> Iterator[str]:
        name = f"made_{next(numbers)}"
        yield name
        if writer.has(name):
            writer.drop(name)

    @pytest.fixture
    def committable(self, writer: NessieWriter) -> Iterator[str]:
        name = f"committed/{next(numbers)}.to"
        writer.create(name, at=writer.head("main"))
        yield name
        writer.drop(name)

    @pytest.fixture
    def detached(self, writer: NessieWriter) -> Reference:
        name = writer.branch()
        head = writer.commit(name, put(table("s3://b/gone/1.json"), "gone"))
        writer.drop(name)
        return Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=head)

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (SECRET,)

    @pytest.fixture
    def answering(self) -> Iterator[Callable[[Callable[[Asked], Reply]], Open]]:
        """Makes a function that opens a connector to a server that answers in some way."""
        with ExitStack() as stack:
            yield lambda answer: partial(connector_to, stack.enter_context(LoopbackServer(answer)).uri)

    @pytest.fixture
    def unavailable(self, answering: Callable[..., Open]) -> Sequence[Open]:
        nobody = partial(connector_to, f"http://127.0.0.1:{free_ports(1)[0]}/api/v2")
        return [nobody, *(answering(scripted(Reply(status=status))) for status in (500, 503))]

    @pytest.fixture
    def refusing(self, answering: Callable[..., Open]) -> Sequence[Open]:
        return [answering(scripted(json_reply({"message": "who are you"}, status=status))) for status in (401, 403)]

    @pytest.fixture
    def nonsense(self, answering: Callable[..., Open]) -> Sequence[Open]:
        bodies = (b"", b"{", b"[]", b"{}", b"<html></html>", b'{"hasMore": false}')
        return [answering(scripted(Reply(body=body))) for body in bodies]

    @pytest.fixture
    def missing_repository(self, answering: Callable[..., Open]) -> Sequence[Open]:
        return [answering(scripted(Reply(status=404, body=b"<html>not here</html>")))]

    @pytest.fixture
    def breaking_off(self, answering: Callable[..., Open], filled: NessieServer) -> Sequence[Open]:
        """What the real server says, down to the second page of the references, the log or the contents."""

        def answer(part: str, broken: Reply, asked: Asked) -> Reply:
            if part in asked.path and "page-token" in asked.query:
                return broken
            with urlopen(filled.uri.removesuffix("/api/v2") + asked.target, timeout=30) as response:
                return Reply(body=response.read(), headers={"Content-Type": "application/json"})

        broken = (Reply(status=503), Reply(body=b'{"hasMore": false}'))
        parts = ("trees", "history", "entries")
        return [answering(partial(answer, part, reply)) for part in parts for reply in broken]

    @pytest.fixture
    def incoherent(self, answering: Callable[..., Open], filled: NessieServer) -> Sequence[Open]:
        """What the real server says, but for one value; more of them are in the tests of suspicious answers."""

        def answer(part: str, said: bytes, instead: bytes, asked: Asked) -> Reply:
            with urlopen(filled.uri.removesuffix("/api/v2") + asked.target, timeout=30) as response:
                body = response.read()
            return Reply(body=re.sub(said, instead, body) if part in asked.path else body)

        ways = [
            ("trees", rb'"hash"[^"]+"[0-9a-f]+"', b'"hash": null'),
            ("history", rb'"parentCommitHash(es)?"', b'"left_out"'),
            ("history", rb'"parentCommitHash" : ', b'"parentCommitHash": "' + b"aa" * 32 + b'", "left_out" : '),
            ("entries", rb'"content" :', b'"left_out" :'),
            ("entries", rb'"t\d"', b'"t1"'),
        ]
        return [answering(partial(answer, *way)) for way in ways]

    @pytest.fixture
    def break_table(self) -> NotPossible:
        return NotPossible("it reads no tables: commits name their states")


def connector_to(uri: str) -> NessieConnector:
    return NessieConnector.from_options({**OPTIONS, "uri": uri, "retries": 0})
