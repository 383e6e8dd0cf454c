"""Which stores are reached through fsspec, and what is said where they cannot be."""

from __future__ import annotations

import subprocess
import sys

import fsspec
import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.fsspec_options import (
    FALLBACK_SCHEMES,
    arguments,
    is_read_by_pyiceberg,
    is_through_fsspec,
    secrets_in,
)
from nessie_gc_iceberg_files.places import SCHEMES
from scripted_file_system import ScriptedFileSystem, file

from nessie_gc_core.errors import ConfigurationError

CONNECTORS = [IcebergContentToFiles, IcebergFileLister, IcebergFileDeleter]


class Tos(ScriptedFileSystem):
    def __init__(self, **given):
        super().__init__({"lake/t": [file("lake/t/a")]}, {"lake/t/1.metadata.json": b"{"})
        self.given = given


class Elsewhere(ScriptedFileSystem):
    @classmethod
    def _strip_protocol(cls, path):
        return "/somewhere/" + path.rpartition("/")[2]


@pytest.fixture
def tos():
    fsspec.register_implementation("tos", Tos, clobber=True)


def listed(location, properties):
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        return [found.path for found in lister.list_files(location)]


def test_listers_and_deleters_take_what_fsspec_knows_and_nobody_else_claims():
    assert FALLBACK_SCHEMES == IcebergFileLister.fallback_schemes == IcebergFileDeleter.fallback_schemes
    assert not FALLBACK_SCHEMES & SCHEMES
    assert set(fsspec.available_protocols()) >= FALLBACK_SCHEMES


def test_a_scheme_of_fsspec_is_listed_with_the_arguments_of_its_property(tos):
    assert ["a"] == listed("tos://lake/t/", {"fsspec.tos": '{"region": "x"}'})


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"s3.client": "fspec"}, "the property s3.client is 'fspec'; it must be native or fsspec"),
        ({"gcs.client": ""}, "gcs.client"),
        ({"adls.client": "FSSPEC"}, "adls.client"),
        ({"fsspec.sfpt": "{}"}, "names a scheme that is not used through fsspec; known are: .*sftp"),
        ({"fsspec.s3": "{}"}, "names a scheme that is not used through fsspec"),
        ({"fsspec.sftp": "our-secret"}, "fsspec.sftp is not a JSON object"),
        ({"fsspec.sftp": '["our-secret"]'}, "fsspec.sftp is not a JSON object"),
    ],
)
def test_s27_a_property_that_is_not_understood_is_an_error_before_anything_is_read(connector, properties, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        connector.from_options({"properties": properties})
    assert "our-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_object_stores_are_reached_through_fsspec_where_a_property_says_so():
    for scheme, name in (("s3a", "s3.client"), ("gs", "gcs.client"), ("wasb", "adls.client")):
        assert [True, False, False] == [is_through_fsspec(scheme, {name: c}) for c in ("fsspec", "native", "")]
        assert not is_through_fsspec(scheme, {})
        assert not is_through_fsspec("file", {name: "fsspec"})


def test_what_pyiceberg_reads_it_goes_on_to_read_until_fsspec_is_configured():
    for scheme in ("hdfs", "oss"):
        assert is_read_by_pyiceberg(scheme, {})
        assert not is_read_by_pyiceberg(scheme, {f"fsspec.{scheme}": "{}"})
    assert is_read_by_pyiceberg("hf", {})
    assert not is_read_by_pyiceberg("sftp", {})


def test_hdfs_has_the_properties_of_pyiceberg_unless_it_has_its_own():
    properties = {"hdfs.host": "nn", "hdfs.port": "8020", "hdfs.user": "me"}
    assert {"host": "nn", "port": 8020, "user": "me"} == arguments("hdfs", properties)
    assert {"host": "other"} == arguments("hdfs", {**properties, "fsspec.hdfs": '{"host": "other"}'})


def test_the_configured_file_io_wins_for_reading(tos, version_of, tmp_path):
    """``py-io-impl`` reads what the lister lists through fsspec."""
    properties = {"fsspec.tos": "{}", "py-io-impl": "tos_file_io.TosFileIO"}
    (tmp_path / "1.metadata.json").write_text('{"format-version": 9}')
    with (
        IcebergContentToFiles.from_options({"properties": {**properties, "tos.folder": str(tmp_path)}}) as reader,
        pytest.raises(Exception, match="format"),
    ):
        list(reader.files(version_of("tos://lake/t/1.metadata.json")))
    assert ["a"] == listed("tos://lake/t/", properties)


def test_a_library_that_is_missing_is_one_line_that_says_what_to_install():
    with pytest.raises(ConfigurationError, match="Install ocifs") as caught:
        listed("oci://lake@tenancy/t/", {})
    assert 1 == len(str(caught.value).splitlines())


def test_s3fs_that_is_missing_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'nessie-gc-iceberg-files\[s3fs\]'"):
        listed("s3://lake/t/", {"s3.client": "fsspec"})


def test_paramiko_that_is_missing_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "paramiko", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.sftp", raising=False)
    monkeypatch.delitem(sys.modules, "nessie_gc_iceberg_files.fsspec_sftp", raising=False)
    with pytest.raises(ConfigurationError, match=r"paramiko: pip install 'nessie-gc-iceberg-files\[sftp\]'"):
        listed("sftp:///lake/t/", {"fsspec.sftp": '{"host": "files.corp.example"}'})


def test_s04_a_file_system_whose_paths_are_not_understood_is_refused():
    fsspec.register_implementation("tos", Elsewhere, clobber=True)
    with pytest.raises(ConfigurationError, match="cannot tell how fsspec reads"):
        listed("tos://lake/t/", {})


def test_nothing_of_fsspec_is_imported_before_it_is_needed():
    code = (
        "import sys; from nessie_gc_iceberg_files import *;"
        "IcebergFileLister.from_options({'properties': {'fsspec.sftp': '{}', 's3.client': 'fsspec'}});"
        "assert not {'fsspec', 'paramiko', 's3fs', 'pyiceberg'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_s28_what_an_error_may_show_of_the_arguments():
    given = {
        "host": "files.corp.example",
        "password": "our-secret",
        "port": 22,
        "x": {"token": "other-secret"},
        "y": "a",
    }
    assert ["our-secret", "other-secret"] == secrets_in(given)


def test_gcsfs_and_adlfs_read_without_obstore(monkeypatch):
    from nessie_gc_iceberg_files.fsspec_adls import AdlfsStore
    from nessie_gc_iceberg_files.fsspec_gcs import GcsfsStore

    for store in (AdlfsStore, GcsfsStore):
        made = store.__new__(store)
        monkeypatch.setattr(store, "_read", lambda self, key, limit=None: key.encode())
        assert b"t/a" == made.read("t/a")  # it has no quick client at all
