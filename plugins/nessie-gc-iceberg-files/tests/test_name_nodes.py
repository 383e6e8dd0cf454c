"""Which name nodes an ``hdfs`` location has by Hadoop's own configuration files, and which it never has."""

from __future__ import annotations

import json

import pytest
from evil_host import evil_host
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.name_nodes import FOLDER, name_nodes, refusal_of
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of
from scripted_name_node import Answer, exception, node, on_standby

from nessie_gc_core.errors import ConfigurationError, ListingError, UnreadableFileError
from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.testing.servers.hdfs import write_site

HA = {
    "dfs.nameservices": "prod, backup",
    "dfs.ha.namenodes.prod": "nn1,nn2",
    "dfs.namenode.rpc-address.prod.nn1": "one.example:8020",
    "dfs.namenode.rpc-address.prod.nn2": "two.example:8020",
    "dfs.namenode.http-address.prod.nn1": "one.example:9870",
    "dfs.namenode.http-address.prod.nn2": "two.example",
    "dfs.namenode.http-address.backup": "three.example:50070",
    "dfs.namenode.https-address.prod.nn1": "one.example:9871",
    "dfs.namenode.https-address.prod.nn2": "two.example:9871",
}


@pytest.fixture(autouse=True)
def no_hadoop(monkeypatch):
    for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def files(tmp_path):
    """Writes the two files, and gives the properties that name their folder."""

    def write(core, hdfs=None):
        write_site(tmp_path / "core-site.xml", core)
        write_site(tmp_path / "hdfs-site.xml", hdfs or {})
        return {FOLDER: str(tmp_path)}

    return write


def addresses(authority, properties):
    found = name_nodes(place_of(f"hdfs://{authority}/lake/t/"), properties)
    return None if found is None else found.addresses


PROD = ("one.example:9870", "two.example:9870")


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("prod", PROD),
        ("", PROD),
        ("one.example:8020", PROD),
        ("two.example", PROD),
        ("Two.Example:8020", PROD),
        ("backup", ("three.example:50070",)),
        ("one.example:9000", None),
        ("one.example:9870", None),
        ("PROD", None),
        ("gc@prod", None),
        ("three.example", None),
        ("evil.example", None),
    ],
)
def test_a_location_on_a_name_service_has_all_its_name_nodes(files, authority, expected):
    assert expected == addresses(authority, files({"fs.defaultFS": "hdfs://prod"}, HA))


@pytest.mark.parametrize(
    ("core", "hdfs", "authority", "expected"),
    [
        ({"fs.defaultFS": "hdfs://nn.example:9000/"}, {}, "nn.example:9000", ("nn.example:9870",)),
        ({"fs.defaultFS": "hdfs://nn.example"}, {}, "nn.example:8020", ("nn.example:9870",)),
        ({"fs.defaultFS": "hdfs://nn.example"}, {}, "", ("nn.example:9870",)),
        (
            {"fs.defaultFS": "hdfs://nn.example"},
            {"dfs.namenode.http-address": "0.0.0.0:50070"},
            "",
            ("nn.example:50070",),
        ),
        (
            {"fs.defaultFS": "hdfs://nn.example"},
            {"dfs.namenode.http-address": "web.example:80"},
            "",
            ("web.example:80",),
        ),
        ({"fs.defaultFS": "s3a://lake"}, {}, "", None),
        ({"fs.defaultFS": "s3a://lake"}, {}, "lake", None),
        ({}, {}, "", None),
        (
            {"host": "nn.example", "fs.defaultFS": "hdfs://${host}"},
            {"dfs.namenode.http-address": "${host}:1"},
            "",
            ("nn.example:1",),
        ),
    ],
)
def test_a_location_on_one_name_node_has_its_address(files, core, hdfs, authority, expected):
    assert expected == addresses(authority, files(core, hdfs))


def test_https_and_kerberos_are_as_the_files_say(files):
    core = {"fs.defaultFS": "hdfs://prod", "hadoop.security.authentication": "kerberos"}
    found = name_nodes(place_of("hdfs://prod/t/"), files(core, {**HA, "dfs.http.policy": "HTTPS_ONLY"}))
    assert found is not None
    assert ["https://one.example:9871", "https://two.example:9871"] == found.urls
    assert {"host": "one.example", "port": 9871, "use_https": True, "kerberos": True} == found.arguments()


def test_the_user_is_the_one_of_the_environment(files, monkeypatch):
    found = name_nodes(place_of("hdfs:///t/"), files({"fs.defaultFS": "hdfs://nn"}))
    assert found is not None
    monkeypatch.setenv("HADOOP_USER_NAME", "gc")
    assert "gc" == found.arguments()["user"]
    monkeypatch.delenv("HADOOP_USER_NAME")
    monkeypatch.setenv("LOGNAME", "whoever-runs-it")
    assert "whoever-runs-it" == found.arguments()["user"]


def test_the_environment_names_the_folder_where_no_property_does(files, monkeypatch, tmp_path):
    files({"fs.defaultFS": "hdfs://nn"})
    assert addresses("nn", {}) is None
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert ("nn:9870",) == addresses("nn", {})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "of-an-image"))
    assert addresses("nn", {}) is None


@pytest.mark.parametrize("said", [{"fsspec.hdfs": "{}"}, {"hdfs.host": "other"}])
def test_properties_for_another_client_take_precedence_over_the_environment(files, monkeypatch, tmp_path, said):
    files({"fs.defaultFS": "hdfs://nn"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert addresses("nn", said) is None
    with pytest.raises(ConfigurationError, match=r"hdfs\.conf-dir and .* are mutually exclusive"):
        Stores({FOLDER: str(tmp_path), **said})


@pytest.mark.parametrize(
    ("core", "said"),
    [
        ("<configuration><property>", "cannot read"),
        ("<something/>", "not a plain configuration file"),
        ('<configuration><include href="more.xml"/></configuration>', "not a plain configuration file"),
        (
            "<configuration><property><name>fs.defaultFS</name><value>hdfs://${no}</value></property></configuration>",
            "cannot be resolved",
        ),
    ],
)
def test_s27_files_that_are_not_understood_are_an_error(tmp_path, core, said):
    (tmp_path / "core-site.xml").write_text(core)
    with pytest.raises(ConfigurationError, match=said) as caught:
        refusal_of("hdfs://nn/t/", {FOLDER: str(tmp_path)})
    assert 1 == len(str(caught.value).splitlines())


def test_s27_a_folder_without_the_files_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match=r"neither core-site\.xml nor hdfs-site\.xml"):
        Stores({FOLDER: str(tmp_path)})


def test_s27_a_name_service_without_the_address_of_webhdfs_is_an_error(files):
    properties = files({}, {"dfs.nameservices": "prod", "dfs.ha.namenodes.prod": "nn1"})
    with pytest.raises(ConfigurationError, match=r"set dfs\.namenode\.http-address\.prod\.nn1 to host:port"):
        addresses("prod", properties)


def test_a_final_value_is_not_changed_by_the_next_file(tmp_path):
    final = "<property><name>{}</name><value>{}</value><final>true</final></property>"
    core = "".join([final.format("fs.defaultFS", "hdfs://nn"), final.format("dfs.namenode.http-address", "nn:1")])
    (tmp_path / "core-site.xml").write_text(f"<configuration><!-- by hand -->{core}</configuration>")
    write_site(tmp_path / "hdfs-site.xml", {"dfs.namenode.http-address": "nn:2"})
    assert ("nn:1",) == addresses("nn", {FOLDER: str(tmp_path)})


# ---- whom requests go to ----------------------------------------------------------------------------------
@pytest.mark.parametrize("authority", ["evil.example", "evil.example:8020", "prod@evil.example", "gc@prod"])
def test_s28_a_host_that_only_a_location_names_is_never_asked(files, monkeypatch, version_of, authority):
    location, options = f"hdfs://{authority}/t/", {"properties": files({"fs.defaultFS": "hdfs://prod"}, HA)}
    with evil_host(monkeypatch) as evil:
        with IcebergFileLister.from_options(options) as lister, pytest.raises(ConfigurationError, match="trusted"):
            list(lister.list_files(location))
        with IcebergFileDeleter.from_options(options) as deleter:
            (found,) = deleter.delete_files(location, [FileReference(location=location, path="a", size=1)])
            assert DeleteStatus.FAILED is found.status
        with IcebergContentToFiles.from_options(options) as reader, pytest.raises(UnreadableFileError):
            list(reader.files(version_of(f"{location}1.metadata.json")))
        assert evil.is_untouched


def test_s28_a_line_break_in_a_path_is_refused_on_a_known_name_service_too(files):
    assert "line break" in (refusal_of("hdfs://prod/a\nb", files({"fs.defaultFS": "hdfs://prod"}, HA)) or "")


def of_two(files, first, second):
    return files(
        {"fs.defaultFS": "hdfs://prod"},
        {
            "dfs.nameservices": "prod",
            "dfs.ha.namenodes.prod": "nn1,nn2",
            "dfs.namenode.http-address.prod.nn1": first,
            "dfs.namenode.http-address.prod.nn2": second,
        },
    )


def empty(path):
    kind = {"pathSuffix": "", "type": "DIRECTORY", "length": 0, "modificationTime": 1}
    said = {"FileStatus": kind} if "GETFILESTATUS" in path else {"FileStatuses": {"FileStatus": []}}
    return Answer(body=json.dumps(said).encode())


def test_the_name_node_that_is_active_is_asked_from_then_on(files):
    with node(on_standby) as one, node(empty) as other:
        properties = of_two(files, one.address, other.address)
        with IcebergFileLister.from_options({"properties": properties}) as lister:
            assert [] == [*lister.list_files("hdfs://prod/t/"), *lister.list_files("hdfs://prod/u/")]
    assert (1, 4) == (len(one.asked), len(other.asked))


def test_s06_no_active_name_node_is_an_error_and_not_an_empty_location(files):
    with node(on_standby) as one, node(on_standby) as other:
        properties = of_two(files, one.address, other.address)
        with (
            IcebergFileLister.from_options({"properties": properties}) as lister,
            pytest.raises(ListingError, match="not supported in state standby"),
        ):
            list(lister.list_files("hdfs://prod/t/"))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (exception(500, "IOException", "the block is missing"), OSError),
        (exception(404, "FileNotFoundException", "the data node has none"), OSError),
        (Answer(403, b"<html>refused</html>"), OSError),
    ],
)
def test_s06_an_error_of_a_data_node_is_not_the_contents_of_a_file(files, answer, error):
    with node(lambda path: answer) as data_node:
        redirect = Answer(307, headers={"Location": f"http://{data_node.address}/webhdfs/v1/t/a?op=OPEN"})
        with node(lambda path: redirect) as name_node:
            stores = Stores(files({"fs.defaultFS": "hdfs://nn"}, {"dfs.namenode.http-address": name_node.address}))
            with pytest.raises(error) as caught:
                stores.of(place_of("hdfs://nn/t/a")).read("t/a")
            stores.close()
    assert not isinstance(caught.value, FileNotFoundError)
