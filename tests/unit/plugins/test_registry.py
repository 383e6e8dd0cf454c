from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import metadata

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import ContentToFiles, FileLister, LiveSetStore, VisitedDeduplicator
from nessie_gc_core.errors import PluginError
from nessie_gc_core.model.files import FileReference, ReachableFile
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import PluginRegistry, installed
from nessie_gc_core.plugins.registry import KINDS


class TapeLister(FileLister):
    name = "tape"
    schemes = frozenset({"tape"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        return iter(())


class OtherTapeLister(TapeLister):
    name = "other-tape"


class AnyLister(TapeLister):
    name = "any"
    schemes = frozenset({"any"})
    fallback_schemes = frozenset({"tape", "reel"})


class OtherAnyLister(AnyLister):
    name = "other-any"
    schemes = frozenset({"other-any"})


class TapeReader(ContentToFiles):
    name = "tape"
    content_types = frozenset({"TAPE"})
    expandable_kinds = ()

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        return iter(())

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        return iter(())


class Tape:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return TapeLister

    @hookimpl
    def nessie_gc_register_content_to_files(self) -> Sequence[type[ContentToFiles]]:
        return [TapeReader]


class OtherTape:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> Sequence[type[FileLister]]:
        return (OtherTapeLister,)


class Any:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return AnyLister


class OtherAny:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return OtherAnyLister


class Veto:
    @hookimpl
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> None:
        return None


TAPE_PLUGIN, VETO_PLUGIN = Tape(), Veto()


class Nonsense:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> object:
        return "tape"


def registry(*plugins: object) -> PluginRegistry:
    made = PluginRegistry()
    for number, plugin in enumerate(plugins):
        made.register(plugin, name=f"plugin-{number}")
    return made


def test_a_connector_is_found_by_name_scheme_and_content_type() -> None:
    found = registry(Tape())
    assert TapeLister is found.connector_class(FileLister, "tape")
    assert TapeLister is found.for_scheme(FileLister, "tape")
    assert TapeReader is found.reader_of("TAPE")
    assert {"tape"} == found.schemes()
    assert isinstance(found.open(FileLister, ConnectorSpec(kind="file-lister", name="tape")), TapeLister)


def test_the_plugins_that_bring_connectors_of_a_contract() -> None:
    found = registry(Tape(), object())
    assert ["plugin-0"] == [plugin.name for plugin in found.bringing(FileLister).plugins]
    assert ["plugin-0"] == [plugin.name for plugin in found.bringing(LiveSetStore, FileLister).plugins]
    assert () == found.bringing(LiveSetStore).plugins


def test_some_entry_points_only() -> None:
    found = PluginRegistry.discover(only=["memory"])
    assert ["memory"] == [plugin.name for plugin in found.plugins]
    assert installed().connectors(FileLister).keys() > found.connectors(FileLister).keys() == {"memory", "mock"}


def test_what_nobody_claims_is_none() -> None:
    assert registry().reader_of("TAPE") is None
    assert registry().for_scheme(FileLister, "tape") is None


def test_two_claimants_of_a_name_are_an_error_that_names_both() -> None:
    with pytest.raises(PluginError, match="'tape' is claimed by the plugins 'plugin-0' and 'plugin-1'"):
        registry(Tape(), Tape()).connector_class(FileLister, "tape")


def test_two_claimants_of_a_content_type_are_an_error_that_names_both() -> None:
    with pytest.raises(PluginError, match="content type 'TAPE' is claimed by the plugins 'plugin-0' and 'plugin-1'"):
        registry(Tape(), Tape()).reader_of("TAPE")


def test_two_claimants_of_a_scheme_are_an_error_unless_one_is_chosen() -> None:
    both = registry(Tape(), OtherTape())
    with pytest.raises(PluginError, match="'plugin-0' and 'plugin-1'"):
        both.for_scheme(FileLister, "tape")
    assert OtherTapeLister is both.for_scheme(FileLister, "tape", preferred="other-tape")


def test_a_scheme_is_taken_as_a_fallback_only_where_nobody_else_claims_it() -> None:
    both = registry(Any(), Tape())
    assert TapeLister is both.for_scheme(FileLister, "tape")
    assert AnyLister is both.for_scheme(FileLister, "reel")
    assert AnyLister is registry(Any()).for_scheme(FileLister, "tape")


def test_a_fallback_that_is_chosen_by_name_comes_first() -> None:
    both = registry(Any(), Tape())
    assert AnyLister is both.for_scheme(FileLister, "tape", preferred="any")
    assert TapeLister is both.for_scheme(FileLister, "tape", preferred="other-any")


def test_two_fallbacks_for_a_scheme_are_an_error_unless_one_is_chosen() -> None:
    both = registry(Any(), OtherAny())
    with pytest.raises(PluginError, match="'reel' is claimed by the plugins 'plugin-0' and 'plugin-1'"):
        both.for_scheme(FileLister, "reel")
    assert OtherAnyLister is both.for_scheme(FileLister, "reel", preferred="other-any")


def test_schemes_are_known_with_or_without_fallbacks() -> None:
    both = registry(Any(), Tape())
    assert ({"any", "tape", "reel"}, {"any", "tape"}) == (both.schemes(), both.schemes(fallback=False))


def test_what_a_plugin_takes_as_a_fallback_is_told_apart_from_its_claims() -> None:
    (info,) = registry(Any()).plugins
    assert ("file-lister any (any; unless claimed: reel, tape)",) == info.connectors


@pytest.mark.parametrize("claims", [["tape"], "tape", {""}, {7}, None])
def test_fallbacks_that_are_no_set_of_texts_are_an_error(claims: object) -> None:
    class Wrong(TapeLister):
        fallback_schemes = claims  # type: ignore[assignment]

    class Plugin:
        @hookimpl
        def nessie_gc_register_file_lister(self) -> type[FileLister]:
            return Wrong

    with pytest.raises(PluginError, match="'fallback_schemes' is not a set of strings"):
        registry(Plugin())


def test_a_hook_that_gives_no_connector_is_an_error_and_leaves_nothing_behind() -> None:
    made = registry(Tape())
    with pytest.raises(PluginError, match="which is not a FileLister"):
        made.register(Nonsense(), name="nonsense")
    assert TapeLister is made.for_scheme(FileLister, "tape")
    assert {"tape"} == set(made.connectors(FileLister))


@pytest.mark.parametrize(
    ("kind", "name", "distribution"),
    [
        ("repository", "nessie", "nessie-gc-nessie"),
        ("repository", "iceberg-catalog", "nessie-gc-iceberg-catalog"),
        ("content-to-files", "iceberg", "nessie-gc-iceberg-files"),
        ("file-deleter", "iceberg-files", "nessie-gc-iceberg-files"),
        ("live-set-store", "jdbc", "nessie-gc-jdbc"),
        ("live-set-store", "memory", "nessie-gc-memory"),
    ],
)
def test_a_known_connector_that_is_missing_says_what_to_install(kind: str, name: str, distribution: str) -> None:
    (contract,) = [contract for contract, (known, _) in KINDS.items() if known == kind]
    with pytest.raises(PluginError, match=f"pip install {distribution}"):
        registry().connector_class(contract, name)


def test_a_known_service_that_is_missing_says_what_to_install() -> None:
    with pytest.raises(PluginError, match="'internal-gc' is not installed: pip install nessie-gc-internal"):
        registry().services.named("internal-gc")


def test_a_known_scheme_that_is_missing_says_what_to_install() -> None:
    assert "pip install nessie-gc-iceberg-files" in registry().missing_scheme("s3a")
    assert "no installed plugin lists 'tape'" in registry().missing_scheme("tape")


def test_an_unknown_name_says_what_there_is_and_what_may_be_meant() -> None:
    with pytest.raises(PluginError, match="installed are: tape; did you mean 'tape'"):
        registry(Tape()).connector_class(FileLister, "tapes")


def name_entry_points(monkeypatch: pytest.MonkeyPatch, ours: Sequence[metadata.EntryPoint]) -> None:
    """Makes these the entry points of our group; libraries that are loaded meanwhile still find their own."""
    found = metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda group: ours if group == "nessie_gc" else found(group=group))


def test_a_broken_plugin_breaks_only_those_who_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = metadata.EntryPoint(name="broken", value="nowhere.to.be.found", group="nessie_gc")
    name_entry_points(monkeypatch, [*metadata.entry_points(group="nessie_gc"), broken])
    found = PluginRegistry.discover()
    assert "exact" in found.connectors(VisitedDeduplicator)
    (info,) = [plugin for plugin in found.plugins if plugin.name == "broken"]
    assert ("broken", "ModuleNotFoundError: No module named 'nowhere'") == (info.name, info.error)
    with pytest.raises(
        PluginError, match=r"broken plugins: .*broken \(ModuleNotFoundError: No module named 'nowhere'\)"
    ):
        found.connector_class(FileLister, "tapes")


def test_two_distributions_with_plugins_of_one_name_both_work(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points = [
        metadata.EntryPoint(name="tape", value=f"{__name__}:{plugin}", group="nessie_gc")
        for plugin in ("TAPE_PLUGIN", "VETO_PLUGIN")
    ]
    name_entry_points(monkeypatch, entry_points)
    found = PluginRegistry.discover()
    assert ["tape", "tape of unknown"] == [plugin.name for plugin in found.plugins]
    assert [None, None] == [plugin.error for plugin in found.plugins]
    assert [False, True] == [plugin.has_veto for plugin in found.plugins]
    assert {"tape"} == set(found.connectors(FileLister))


def test_a_plugin_knows_its_connectors_and_their_claims() -> None:
    (info,) = registry(Tape()).plugins
    assert ("content-to-files tape (TAPE)", "file-lister tape (tape)") == info.connectors


def test_a_plugin_that_a_program_registers_in_vain_is_broken() -> None:
    made = registry(Tape())
    with pytest.raises(PluginError):
        made.register(Nonsense(), name="nonsense")
    (info,) = made.broken
    assert ("nonsense", True) == (info.name, "which is not a FileLister" in str(info.error))


def files(*paths: str) -> list[FileReference]:
    return [FileReference(location="tape://t/", path=path) for path in paths]


def test_every_plugin_is_asked_for_a_veto_and_one_is_enough() -> None:
    class A:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
            return {files[0].path: f"held in {location}"}

    class B:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> None:
            return None

    made = registry(A(), B())
    assert made.has_vetoes
    assert {"a": "held in tape://t/"} == made.veto("tape://t/", files("a", "b"))


def test_a_veto_that_fails_spares_the_whole_batch() -> None:
    class Failing:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
            raise RuntimeError("no answer")

    assert {"a", "b"} == set(registry(Failing()).veto("tape://t/", files("a", "b")))


@pytest.mark.parametrize("answer", [["a"], "ab", 7])
def test_a_veto_whose_answer_makes_no_sense_spares_the_whole_batch(answer: object) -> None:
    class Odd:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> object:
            return answer

    assert {"a", "b"} == set(registry(Odd()).veto("tape://t/", files("a", "b")))


def test_a_veto_without_a_reason_counts() -> None:
    class Curt:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, None]:
            return {"a": None}

    made = registry(Curt()).veto("tape://t/", files("a", "b"))
    assert ["a"] == list(made)
    assert "vetoed by plugin" in made["a"]


def test_a_registry_without_vetoes_says_so() -> None:
    assert not registry(Tape()).has_vetoes


def test_a_plugin_whose_registration_fails_is_still_asked_for_its_veto() -> None:
    class HalfBroken:
        @hookimpl
        def nessie_gc_register_file_lister(self) -> type[FileLister]:
            raise ImportError("a library is missing")

        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
            return {file.path: "legal hold" for file in files}

    registry = PluginRegistry()
    with pytest.raises(ImportError, match="a library is missing"):
        registry.register(HalfBroken(), name="half")

    assert registry.has_vetoes
    file = FileReference(location="s3://b/t/", path="x")
    assert {"x": "legal hold"} == registry.veto("s3://b/t/", [file])
    assert {} == registry.connectors(FileLister)
