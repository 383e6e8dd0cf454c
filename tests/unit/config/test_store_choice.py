from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.settings import StoreSettings
from nessie_gc_core.config.specs import shown_store, store_spec
from nessie_gc_core.errors import ConfigurationError, PluginError
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed


def chosen(
    settings: Mapping[str, Any], *, text: str = "", folder: Path | None = None, **environment: str
) -> ConnectorSpec:
    """The store that keywords, a configuration file and the environment choose."""
    file = ConfigFile()
    if folder is not None:
        (folder / "nessie-gc.toml").write_text(text)
        keys = ("store", "store-option", "jdbc-url", "jdbc-user")
        file = ConfigFile.read(folder / "nessie-gc.toml", keys)
    given = Given.read([StoreSettings], settings, file=file, environment=environment)
    return store_spec(given, installed())


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_without_a_word_live_sets_are_in_a_file_of_the_user(data: Path) -> None:
    spec = chosen({})
    assert ("jdbc", f"sqlite:///{data}/nessie-gc/live-sets.db") == (spec.name, spec.options["url"])


def test_a_store_is_chosen_by_the_name_of_its_connector() -> None:
    spec = chosen({"store": "memory", "store_option": {"store": "mine"}})
    assert ("memory", {"store": "mine"}) == (spec.name, spec.options)


def test_inmemory_is_the_store_memory() -> None:
    assert chosen({"inmemory": True}) == chosen({"store": "memory"})


def test_options_of_the_store_are_those_of_the_java_tool() -> None:
    ours = chosen({"store": "jdbc", "store_option": {"url": "sqlite:///x.db", "fetch_size": "7"}})
    theirs = chosen({"jdbc_url": "sqlite:///x.db", "jdbc_fetch_size": "7"})
    assert {key: str(value) for key, value in theirs.options.items()} == ours.options


def test_two_words_for_one_store_go_together() -> None:
    assert "sqlite:///x.db" == chosen({"store": "jdbc", "jdbc": True, "jdbc_url": "sqlite:///x.db"}).options["url"]
    assert "memory" == chosen({"store": "memory", "inmemory": True}).name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"store": "memory", "jdbc_url": "sqlite:///x.db"}, "`store` and `jdbc_url`"),
        ({"store": "jdbc", "inmemory": True}, "`inmemory` and `store`"),
        ({"store": "memory", "jdbc": True}, "`store` and `jdbc`"),
        ({"store": "memory", "jdbc_user": "me"}, "`jdbc_user` has no effect with the live-set store 'memory'"),
        ({"inmemory": True, "jdbc_fetch_size": 7}, "`jdbc_fetch_size` has no effect with the live-set store 'memory'"),
    ],
)
def test_s27_words_for_different_stores_are_an_error(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(settings)
    assert said in str(caught.value)


def test_a_store_that_is_not_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(PluginError, match=r"'ledgre'.*jdbc.*memory"):
        chosen({"store": "ledgre"})


def test_s27_an_unknown_option_of_the_store_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen({"store": "memory", "store_option": {"stoer": "x"}})  # codespell:ignore stoer
    said = "live-set-store 'memory': unknown option 'stoer'; known options are: store; did you mean 'store'?"
    assert said == str(caught.value)


def test_environment_names_the_store_and_its_options() -> None:
    assert {"store": "mine"} == chosen({}, NESSIE_GC_STORE="memory", NESSIE_GC_STORE_STORE="mine").options
    assert {"store": "mine"} == chosen({}, NESSIE_GC_STORE="memory", NESSIE_GC_STORE_OPTION="store=mine").options


def test_a_stronger_source_names_another_store(tmp_path: Path) -> None:
    text = 'store = "memory"\n[store-option]\nstore = "of the file"\n'
    assert {"store": "of the file"} == chosen({}, text=text, folder=tmp_path).options
    assert "memory" == chosen({"store": "memory"}, NESSIE_GC_JDBC_URL="sqlite:///x.db", NESSIE_GC_JDBC_USER="me").name
    assert "jdbc" == chosen({"jdbc": True}, text='store = "memory"\n', folder=tmp_path).name


def test_the_table_of_another_store_is_not_used(tmp_path: Path) -> None:
    spec = chosen({"store": "memory"}, text='[store]\nurl = "sqlite:///x.db"\n', folder=tmp_path)
    assert {} == spec.options


def test_secrets_of_the_store_stay_out_of_sight() -> None:
    given = Given.read(
        [StoreSettings], {"store_option": {"password": "hunter2"}}, file=ConfigFile(), environment={}
    ).settings(StoreSettings)
    assert "hunter2" not in repr(given)


def test_s28_a_store_is_named_without_its_secrets() -> None:
    known = chosen({"jdbc_url": "postgresql://me:secret@db/gc?password=secret"})
    unclear = chosen({"jdbc_url": "postgresql://db:5432/gc?password=a@secret"})
    memory = chosen({"store": "memory"})
    expected = ["the database postgresql://db/gc", "the database of `jdbc-url`", "the store 'memory'"]
    assert expected == [shown_store(spec) for spec in (known, unclear, memory)]
