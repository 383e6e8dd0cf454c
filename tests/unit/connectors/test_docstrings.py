"""Each contract's docstring opens with a whole plugin, which works."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Listener
from pathlib import Path
from types import GeneratorType, ModuleType
from uuid import uuid4

import pyarrow as pa
import pytest
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core import connectors
from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import (
    LiveSetNotFoundError,
    MissingFileError,
    RepositoryError,
    StoreError,
    UnreadableFileError,
)
from nessie_gc_core.model import ContentVersion, DeleteStatus, FileReference, Reach
from nessie_gc_core.model.options import ConnectorSpec, OptionValue
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry


def plugin(contract: type[Connector]) -> str:
    """The code of the example, which comes second, after the summary."""
    _, _, rest = inspect.cleandoc(contract.__doc__ or "").partition("\n\n")
    title, _, code = rest.partition("\n\n")
    assert "Example of a whole plugin::" == title
    lines = re.match(r"((?: {4}.*\n?|\n)+)", code + "\n")
    assert lines is not None
    return inspect.cleandoc(lines[0])


Opened = Callable[..., Connector]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Opens the only connector of a contract's example, by way of a registry."""

    def open_it(contract: type[Connector], **options: OptionValue) -> Connector:
        module = ModuleType(f"example_of_{contract.__name__}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(plugin(contract), f"<docstring of {contract.__name__}>", "exec"), module.__dict__)
        registry = PluginRegistry()
        registry.register(module, name="example")
        (name,) = registry.connectors(contract)
        return registry.open(contract, ConnectorSpec(kind=KINDS[contract][0], name=name, options=options))

    return open_it


@pytest.mark.parametrize("contract", KINDS, ids=lambda contract: contract.__name__)
def test_the_plugin_of_the_docstring_registers_one_connector_of_the_contract(
    contract: type[Connector], opened: Opened
) -> None:
    with opened(contract) as connector:
        assert isinstance(connector, contract)


@pytest.mark.parametrize("contract", KINDS, ids=lambda contract: contract.__name__)
def test_the_plugin_of_the_docstring_imports_public_names_only(contract: type[Connector]) -> None:
    imported = set(re.findall(r"^from (nessie_gc_core\S*)", plugin(contract), re.MULTILINE))
    assert imported <= {f"nessie_gc_core{each}" for each in ("", ".connectors", ".errors", ".model")}


def test_the_lister_lists(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "t" / "data").mkdir(parents=True)
    (tmp_path / "t" / "data" / "a b.parquet").write_bytes(b"abc")
    (tmp_path / "t" / "link").symlink_to(tmp_path)
    lister = opened(connectors.FileLister)
    assert isinstance(lister, connectors.FileLister)
    (found,) = lister.list_files(f"disk://{tmp_path}/t/")
    assert ("data/a b.parquet", 3) == (found.path, found.size)
    assert found.modified is not None
    assert [] == list(lister.list_files(f"disk://{tmp_path}/none/"))
    with pytest.raises(OSError, match="cannot list"):
        list(lister.list_files(f"disk://{tmp_path}/t/data/a b.parquet/"))


def test_the_deleter_deletes(opened: Opened) -> None:
    asked, answers = [], {"/t/a%20b": 204, "/t/gone": 404, "/t/stuck": 500}

    class Handler(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            asked.append(self.path)
            self.send_response(answers[self.path])
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        deleter, location = opened(connectors.FileDeleter), f"web://127.0.0.1:{server.server_port}/t/"
        assert isinstance(deleter, connectors.FileDeleter)
        files = [FileReference(location=location, path=path) for path in ("a b", "gone", "stuck")]
        found = {outcome.path: outcome.status for outcome in deleter.delete_files(location, files)}
        server.shutdown()
    expected = {"a b": DeleteStatus.DELETED, "gone": DeleteStatus.ALREADY_GONE, "stuck": DeleteStatus.FAILED}
    assert expected == found
    assert list(answers) == asked


def test_the_repository_is_read(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "c.json").write_text('{"db.t": "s3://b/t/1.json"}')
    repository = opened(connectors.RepositoryConnector, file=str(tmp_path / "c.json"))
    assert isinstance(repository, connectors.RepositoryConnector)
    (reference,) = repository.references()
    (entry,) = repository.commit_log(reference)
    assert entry.operations is not None
    assert entry.operations[0].content is not None
    assert "s3://b/t/1.json" == entry.operations[0].content.metadata_location
    missing = opened(connectors.RepositoryConnector, file=str(tmp_path / "none.json"))
    assert isinstance(missing, connectors.RepositoryConnector)
    with pytest.raises(RepositoryError):
        list(missing.references())


def test_the_reader_reads(tmp_path: Path, opened: Opened) -> None:
    reader = opened(connectors.ContentToFiles)
    assert isinstance(reader, connectors.ContentToFiles)

    def version(name: str, text: str | None) -> ContentVersion:
        if text is not None:
            (tmp_path / name).write_text(text)
        return ContentVersion(
            content_id=name,
            content_type="LINES",
            metadata_location=f"{tmp_path}/{name}",
            snapshot_id=None,
            content_key=name,
            commit_id="c",
        )

    whole = version("whole", "s3://b/t\ns3://b/t/a\nEND\n")
    assert [whole.metadata_location, "s3://b/t/a"] == [file.path for file in reader.files(whole)]
    for text in ("", "s3://b/t\ns3://b/t/a\n"):
        with pytest.raises(UnreadableFileError):
            list(reader.files(version("broken", text)))
    with pytest.raises(MissingFileError):
        list(reader.files(version("none", None)))


def test_the_store_passes_every_verb_on(tmp_path: Path, opened: Opened) -> None:
    path, calls = os.path.relpath(tmp_path / "s"), 3
    with MemoryLiveSetStore.from_options({}) as inner, Listener(path, "AF_UNIX") as listener:
        server = threading.Thread(target=_serve, args=(listener, inner, calls))
        server.start()
        store, live_set_id = opened(connectors.LiveSetStore, socket=path), uuid4()
        assert isinstance(store, connectors.LiveSetStore)
        store.start_identify(live_set_id, repository="r", created=datetime(2026, 1, 1, tzinfo=UTC))
        assert [live_set_id] == [live_set.id for live_set in store.live_sets()]
        with pytest.raises(LiveSetNotFoundError):
            store.get(uuid4())
        server.join()


def test_the_catalog_keeps_tables(tmp_path: Path, opened: Opened) -> None:
    name, schema = ("gc", "found"), pa.schema([pa.field("n", pa.int64(), nullable=False)])

    def row(number: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"n": number}], schema)

    tables = opened(connectors.TableCatalog)
    assert isinstance(tables, connectors.TableCatalog)
    with tables.open(str(tmp_path)) as catalog:
        assert catalog.state(name) is None
        catalog.create(name, schema, properties={"made": "here"})
        before = catalog.state(name)
        assert before is not None
        assert (schema, {"made": "here"}, None) == (before.schema, before.properties, before.snapshot_id)
        assert [True, False] == [catalog.claim(name, row(1), "n", since=before) for _ in range(2)]
        catalog.append(name, [row(2), row(3)])
        catalog.add_columns(name, [pa.field("more", pa.string())])
        catalog.remove(name, [row(2)])
        found = [each for batch in catalog.read(name, ["n", "more"]) for each in batch.to_pylist()]
        assert [{"n": 1, "more": None}, {"n": 3, "more": None}] == sorted(found, key=lambda each: each["n"])
        catalog.drop(name)
        assert catalog.state(name) is None


def _serve(listener: Listener, store: connectors.LiveSetStore, calls: int) -> None:
    for _ in range(calls):
        with listener.accept() as connection:
            verb, args, named = connection.recv()
            call: Callable[..., object] = getattr(store, verb)
            try:
                answer = call(*args, **named)
                connection.send((list(answer) if isinstance(answer, GeneratorType) else answer, None))
            except StoreError as error:
                connection.send((None, pickle.loads(pickle.dumps(error))))


def test_the_deduplicator_remembers(opened: Opened) -> None:
    visited = opened(connectors.VisitedDeduplicator)
    assert isinstance(visited, connectors.VisitedDeduplicator)
    asked = [Reach(commits=2), Reach(commits=1), Reach(everything=True)]
    assert [True, False, True] == [visited.should_walk(bytes(16), reach) for reach in asked]
