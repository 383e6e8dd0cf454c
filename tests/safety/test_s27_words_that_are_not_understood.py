"""S27: a word that is not understood is an error before anything is read, and never leads to a deletion."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import pytest
from cli_runs import go_home
from click.testing import CliRunner, Result
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core import ConnectorOptions, hookimpl, option, options, secret
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import Connector, ContentToFiles, FileDeleter, FileLister, VisitedDeduplicator
from nessie_gc_core.errors import ConfigurationError, PluginError
from nessie_gc_core.model.files import FileReference, ReachableFile
from nessie_gc_core.model.options import secret_mapping
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, ContentVersion
from nessie_gc_core.plugins import PluginRegistry

GC = ("gc", "--repository", "memory", "--engine", "local", "--inmemory", "-c", "1", "--min-age", "PT0S")
GC_NOW = (*GC, "--no-age-floor")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    return go_home(tmp_path, monkeypatch)


@pytest.fixture
def dead_lake() -> Iterator[MemoryLake]:
    """The lake that the memory connectors use where no other is named; one of its files is dead."""
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC), "default") as lake:
        table = lake.table("db.t", location="memory://warehouse/db/t").append("a.parquet")
        lake.commit("main", put(table.version))
        lake.put("memory://warehouse/db/t/data/dead.parquet")
        lake.now = None
        yield lake


def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=env)


# ---- the environment ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("NESSIE_GC_DRYRUN", "NESSIE_GC_DRY_RUN"),
        ("nessie_gc_dry_run", "NESSIE_GC_DRY_RUN"),
        ("NESSIE_GC_ALOW", "NESSIE_GC_ALLOW"),
        ("NESSIE_GC_MAX_DELETE", "NESSIE_GC_MAX_DELETES"),
        ("NESSIE_GC_REPOSITRY_TOKEN", "NESSIE_GC_REPOSITORY_TOKEN"),
        ("NESSIE_GC_STORE_URI", "NESSIE_GC_STORE_URL"),
    ],
)
def test_s27_a_misspelt_variable_is_an_error_with_the_nearest_name(
    dead_lake: MemoryLake, variable: str, near: str
) -> None:
    before = dead_lake.paths()
    result = run(*GC_NOW, env={variable: "hunter2"})
    said = f"error: unknown environment variable {variable}; did you mean {near}?\n"
    assert (2, said) == (result.exit_code, result.stderr)
    assert before == dead_lake.paths()


def test_s27_a_variable_that_is_like_no_option_is_an_error() -> None:
    result = run("list", env={"NESSIE_GC_XYZ": "1"})
    assert "unknown environment variable NESSIE_GC_XYZ; unset it: no option or connector reads it" in result.stderr


@pytest.mark.parametrize("value", ["ture", "", " ", "2", "on off"])  # codespell:ignore ture
def test_s27_a_switch_in_the_environment_is_true_or_false_or_an_error(dead_lake: MemoryLake, value: str) -> None:
    before = dead_lake.paths()
    result = run(*GC_NOW, env={"NESSIE_GC_DRY_RUN": value})
    assert (2, "") == (result.exit_code, result.stdout)
    assert "dry" in result.stderr.lower()
    assert before == dead_lake.paths()


@pytest.mark.parametrize("variable", ["NESSIE_GC_ALLOW", "NESSIE_GC_MAX_DELETES", "NESSIE_GC_REQUIRED_PLUGINS"])
@pytest.mark.parametrize("value", ["", " ", ","])
def test_s27_an_option_that_is_set_to_nothing_is_an_error(dead_lake: MemoryLake, variable: str, value: str) -> None:
    before = dead_lake.paths()
    result = run(*GC_NOW, env={variable: value})
    named = variable.removeprefix("NESSIE_GC_").lower()[:5]
    assert (2, True) == (result.exit_code, named in result.stderr.lower().replace("-", "_"))
    assert before == dead_lake.paths()


def test_s27_variables_of_options_connectors_and_tests_are_known(dead_lake: MemoryLake) -> None:
    known = {"NESSIE_GC_DRY_RUN": "true", "NESSIE_GC_REPOSITORY_LAKE": "default", "NESSIE_GC_NESSIE_JAR": "/x.jar"}
    result = run(*GC_NOW, "--json", env={**known, "NESSIE_GC_WITH_BASE_LOCATIONS": "true"})
    assert (0, True) == (result.exit_code, json.loads(result.stdout)["dry_run"])


# ---- the configuration file ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dryrun = true", "unknown key 'dryrun'; did you mean 'dry-run'?"),
        ('dry-run = "ture"', "'ture' is not a valid boolean"),  # codespell:ignore ture
        ('dry-run = ""', "'dry-run' is empty"),
        ('allow = ""', "'allow' is empty"),
        ('[connectors.file-lister.memory]\nlaek = "x"', "unknown option 'laek'; known options are: lake"),
        ('[connectors.file-lister.memry]\nlake = "x"', "did you mean 'memory'?"),
        ('[connectors.file-listre.memory]\nlake = "x"', "unknown kind of connector 'file-listre'"),
        ("[connectors.file-lister.memory]\nlake = 3", "option 'lake' cannot be 3: expected a text"),
        ('[repository]\nname = "memory"\nlaek = "x"', "unknown option 'laek'"),
        ('[repository]\nname = "nessie"\nurl = "x"', "repository 'nessie': unknown option 'url'"),
        ('[repository]\nurl = "x"', "repository 'nessie': unknown option 'url'"),
        (
            '[repository]\nname = "nessie"\ntls_verify = "ture"',  # codespell:ignore ture
            "repository 'nessie': option 'tls_verify'",
        ),
        ('[store]\nname = "jdbc"\nuri = "x"', "live-set-store 'jdbc': unknown option 'uri'"),
        ('[store]\nuri = "x"', "live-set-store 'jdbc': unknown option 'uri'"),
        ('required-plugin = ["x"]', "did you mean 'required-plugins'?"),
    ],
)
def test_s27_a_key_of_the_file_that_is_not_understood_is_an_error(
    dead_lake: MemoryLake, home: Path, text: str, said: str
) -> None:
    before = dead_lake.paths()
    (home / "nessie-gc.toml").write_text(text)
    result = run(*GC_NOW)
    assert (2, True) == (result.exit_code, said in result.stderr), result.stderr
    assert before == dead_lake.paths()


@pytest.mark.parametrize(
    "text",
    [
        '[repository]\nname = "nessie"\nauthentication = "bearer"',
        '[repository]\nname = "not-installed"\nrobot = "r2"',
        '[store]\nname = "not-installed"\nrobot = "r2"',
    ],
)
def test_s27_tables_of_connectors_that_are_not_used_need_not_be_complete(
    dead_lake: MemoryLake, home: Path, text: str
) -> None:
    (home / "nessie-gc.toml").write_text(text)
    assert 0 == run(*GC_NOW, "--dry-run").exit_code


# ---- Python ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (ConnectorChoice(deleter="quarantin"), "unknown file-deleter 'quarantin'"),
        (ConnectorChoice(lister="memry"), "unknown file-lister 'memry'.*did you mean 'memory'"),
        (ConnectorChoice(options={("file-deletr", "memory"): {}}), "unknown kind of connector 'file-deletr'"),
        (ConnectorChoice(options={("file-deleter", "memry"): {}}), "did you mean 'memory'"),
    ],
)
def test_s27_a_connector_that_python_misspells_is_an_error(choice: ConnectorChoice, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        choice.check_plugins()


# ---- policies and locations ---------------------------------------------------------------------------
def test_s27_a_pattern_that_matches_no_reference_is_a_warning_in_the_report(dead_lake: MemoryLake) -> None:
    cutoffs = "mian=NONE,ma.*=NONE"  # codespell:ignore mian
    report = json.loads(run(*GC, "--dry-run", "--no-age-floor", "-C", cutoffs, "--json").stdout)
    said = "the pattern 'mian' of `cutoff` matches no reference, so its policy NONE has no effect"
    assert [said] == [warning for warning in report["warnings"] if "pattern" in warning]


def test_s27_check_warns_of_patterns_without_references_and_of_empty_places(dead_lake: MemoryLake) -> None:
    arguments = ("check", "--repository", "memory", "--engine", "local", "-C", "mian=NONE")  # codespell:ignore mian
    places = ("--allow", "memory://warehouse/", "--allow", "memory://warehuose/")
    result = run(*arguments, *places)
    assert 0 == result.exit_code, result.stdout
    warned = [line for line in result.stdout.splitlines() if line.startswith("warn  ")]
    assert 2 == len(warned)
    assert "warn    repository: memory:default has 1 reference; the pattern 'mian' of --cutoff" in warned[0]
    assert "warn    memory://warehuose/: it is empty, so nothing will be swept there" in warned[1]
    checks = json.loads(run(*arguments, *places, "--json").stdout)["checks"]
    assert ["repository", "memory://warehuose/"] == [check["name"] for check in checks if check["warning"]]
    assert all(check["passed"] for check in checks)


# ---- hooks --------------------------------------------------------------------------------------------
class Misspelt:
    @hookimpl
    def nessie_gc_veto_deletions(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files}


class Unmarked:
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files}


class UnmarkedAndMisspelt:
    def nessie_gc_veto(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files}


class WrongArgument:
    @hookimpl
    def nessie_gc_veto_deletion(self, place: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files}


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Misspelt(), "'nessie_gc_veto_deletions', which is not a hook; did you mean 'nessie_gc_veto_deletion'?"),
        (Unmarked(), "has a function 'nessie_gc_veto_deletion' without @hookimpl"),
        (UnmarkedAndMisspelt(), "named like a hook but is not one; did you mean 'nessie_gc_veto_deletion'?"),
    ],
)
def test_s27_a_hook_that_nobody_would_call_breaks_its_plugin(plugin: object, said: str) -> None:
    with pytest.raises(PluginError) as raised:
        PluginRegistry().register(plugin, name="hold")
    assert "plugin 'hold'" in str(raised.value)
    assert said in str(raised.value)


def test_s27_a_hook_with_an_argument_that_does_not_exist_breaks_its_plugin() -> None:
    with pytest.raises(Exception, match="place"):
        PluginRegistry().register(WrongArgument(), name="hold")


def test_s27_a_hook_of_a_later_version_may_be_marked_as_optional() -> None:
    class Later:
        @hookimpl(optionalhook=True)
        def nessie_gc_veto_something_new(self) -> None:
            return None

    PluginRegistry().register(Later(), name="later")


def test_s27_a_module_may_hold_hooks_of_the_core_and_modules_that_are_named_alike() -> None:
    module = ModuleType("tape")
    from nessie_gc_core import hookspecs

    module.nessie_gc_veto_deletion = hookspecs.nessie_gc_veto_deletion  # type: ignore[attr-defined]
    module.nessie_gc_tape = ModuleType("nessie_gc_tape")  # type: ignore[attr-defined]
    PluginRegistry().register(module, name="tape")


# ---- connectors ---------------------------------------------------------------------------------------
class GoodLister(FileLister):
    name = "good"
    schemes = frozenset({"tape"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        return iter(())


class Nameless(FileLister):
    schemes = frozenset({"tape"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        return iter(())


class EmptyName(GoodLister):
    name = " "


class NumberAsName(GoodLister):
    name = 3  # type: ignore[assignment]


class WithoutSchemes(FileLister):
    name = "bad"

    def list_files(self, location: str) -> Iterator[FileReference]:
        return iter(())


class TextAsSchemes(GoodLister):
    schemes = "tape"  # type: ignore[assignment]


class NoSchemes(GoodLister):
    schemes = frozenset()


class Unfinished(FileLister):
    name = "bad"
    schemes = frozenset({"tape"})


class PlainOptions:
    pass


class WrongOptions(GoodLister):
    Options = PlainOptions  # type: ignore[assignment]


class UndecoratedOptions(ConnectorOptions):
    robot: str = "r2"


class WithUndecoratedOptions(GoodLister):
    Options = UndecoratedOptions


@options
class OddlyTypedOptions(ConnectorOptions):
    robot: Path = option(Path(), help="where it stands")


class WithOddlyTypedOptions(GoodLister):
    Options = OddlyTypedOptions


class GoodReader(ContentToFiles):
    name = "reader"
    content_types = frozenset({"TAPE"})
    expandable_kinds = ()

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        return iter(())

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        return iter(())


class WithoutTypes(GoodReader):
    content_types = frozenset()


class ReaderOfUnknown(GoodReader):
    content_types = frozenset({"TAPE", UNKNOWN_CONTENT})


class TextAsKinds(GoodReader):
    expandable_kinds = "manifest"  # type: ignore[assignment]  # a text has characters, where a tuple has kinds


def plugin_of(connector: type[Connector]) -> object:
    class Readers:
        @hookimpl
        def nessie_gc_register_content_to_files(self) -> object:
            return [GoodReader, connector]

    class Listers:
        @hookimpl
        def nessie_gc_register_file_lister(self) -> object:
            return [GoodLister, connector]

    return Readers() if issubclass(connector, ContentToFiles) else Listers()


@pytest.mark.parametrize(
    ("connector", "said"),
    [
        (Nameless, "registers Nameless, whose 'name' is not usable"),
        (EmptyName, "whose 'name' is not usable"),
        (NumberAsName, "whose 'name' is not usable"),
        (WithoutSchemes, "whose 'schemes' is not a non-empty set of strings"),
        (TextAsSchemes, "whose 'schemes' is not a non-empty set of strings"),
        (NoSchemes, "whose 'schemes' is not a non-empty set of strings"),
        (Unfinished, "which does not implement list_files"),
        (WrongOptions, "whose 'Options' is not a subclass of ConnectorOptions"),
        (WithUndecoratedOptions, "whose UndecoratedOptions lacks the decorator @options"),
        (WithOddlyTypedOptions, "option 'robot': no option can have the type"),
        (WithoutTypes, "whose 'content_types' is not a non-empty set of strings"),
        (ReaderOfUnknown, "whose 'content_types' contains 'UNKNOWN_CONTENT', which no plugin may read"),
        (TextAsKinds, "whose 'expandable_kinds' is not a tuple"),
    ],
)
def test_s27_a_connector_that_is_not_complete_breaks_its_plugin_alone(connector: type[Connector], said: str) -> None:
    registry = PluginRegistry()
    registry.register(plugin_of(GoodLister), name="good")
    with pytest.raises(PluginError) as raised:
        registry.register(plugin_of(connector), name="bad")
    assert "plugin 'bad'" in str(raised.value)
    assert said in str(raised.value)
    assert {"good"} == set(registry.connectors(FileLister))
    assert {} == registry.connectors(ContentToFiles)
    assert {"tape"} == registry.schemes()
    assert registry.for_scheme(FileDeleter, "tape") is None
    assert registry.reader_of("TAPE") is None
    with pytest.raises(PluginError, match="unknown visited-deduplicator"):
        registry.connector_class(VisitedDeduplicator, "bad")


# ---- options of connectors ----------------------------------------------------------------------------
class Mode(StrEnum):
    FAST = "fast"
    SAFE = "safe"


@options
class Sample(ConnectorOptions):
    port: int = option(3, help="a number")
    rate: float = option(0.5, help="a number")
    fast: bool = option(False, help="a switch")
    wait: timedelta = option(timedelta(seconds=5), help="a time")
    text: str = option("", help="a text")
    path: str | None = option(None, help="a text or nothing")
    mode: Mode = option(Mode.SAFE, help="a choice")
    hosts: Sequence[str] = option((), help="texts")
    limit: int | None = option(None, help="a number or nothing")
    password: str | None = secret(help="a secret")
    properties: Mapping[str, str] = secret_mapping(help="many secrets")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("port", [1], "a whole number"),
        ("port", True, "a whole number"),
        ("port", 1.5, "a whole number"),
        ("port", None, "a whole number"),
        ("port", "1.5", "a whole number"),
        ("rate", True, "a number"),
        ("rate", "nan", "a number"),
        ("rate", float("inf"), "a number"),
        ("rate", {"a": "b"}, "a number"),
        ("fast", 1, "true or false"),
        ("fast", "perhaps", "true or false"),
        ("fast", None, "true or false"),
        ("wait", "soon", "a number of seconds"),
        ("wait", True, "a number of seconds"),
        ("wait", "inf", "a number of seconds"),
        ("wait", float("nan"), "a number of seconds"),
        ("wait", 1e300, "the number is too large"),
        ("text", 3, "a text"),
        ("text", ["a"], "a text"),
        ("path", 3, "a text"),
        ("path", False, "a text"),
        ("mode", "nonsense", "one of fast, safe"),
        ("mode", 1, "one of fast, safe"),
        ("hosts", [1], "a list of strings"),
        ("hosts", {"a": "b"}, "a list of strings"),
        ("limit", "many", "a whole number"),
        ("limit", True, "a whole number"),
    ],
)
def test_s27_an_option_of_a_wrong_type_is_an_error_that_says_what_is_expected(
    name: str, value: object, expected: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Sample.from_mapping({name: value})  # type: ignore[dict-item]  # the point of the test
    assert f"option {name!r} cannot be {value!r}" in str(raised.value)
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("password", 90210), ("password", ["90210"]), ("properties", "90210"), ("properties", {"90210": 90210})],
)
def test_s27_a_secret_of_a_wrong_type_is_not_shown(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Sample.from_mapping({name: value})  # type: ignore[dict-item]  # the point of the test
    assert "90210" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("wait", 30, timedelta(seconds=30)),
        ("wait", 1.5, timedelta(seconds=1.5)),
        ("wait", "30", timedelta(seconds=30)),
        ("wait", timedelta(hours=1), timedelta(hours=1)),
        ("mode", "fast", Mode.FAST),
        ("mode", Mode.FAST, Mode.FAST),
        ("hosts", ["a", "b"], ("a", "b")),
        ("hosts", "a, b", ("a", "b")),
        ("rate", 3, 3.0),
        ("limit", None, None),
        ("limit", "3", 3),
        ("properties", {"a": "b"}, {"a": "b"}),
    ],
)
def test_s27_values_become_what_their_type_says(name: str, value: object, typed: object) -> None:
    found: Callable[..., Sample] = Sample.from_mapping
    assert (typed, type(typed)) == (getattr(found({name: value}), name), type(getattr(found({name: value}), name)))
