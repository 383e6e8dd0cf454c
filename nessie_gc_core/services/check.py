"""Checks an installation and its configuration: reaches everything, and touches nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector, SupportsDefaultReference
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import (
    AccessDeniedError,
    MissingFileError,
    NessieGcError,
    PluginError,
    UnknownLocationError,
)
from nessie_gc_core.model.batches import Row, to_batches, to_texts
from nessie_gc_core.model.closing import first_of
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.repository import ICEBERG_TABLE, ICEBERG_VIEW, ContentVersion, Reference
from nessie_gc_core.model.text import one_line, plural, shown, without_passwords
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.heads import contents_at
from nessie_gc_core.services.hints import unmatched_patterns
from nessie_gc_core.services.preconditions import check_executors

_TASKS = 64
"""Over how many tasks the question for the plugins is dealt, to meet every executor."""
_LOOKED_AT = 10
"""At the contents of at most so many references."""
_NAMED = 3
"""So many references or contents are named."""
_NOT_TRIED = "not tried: whether this account sees all of them, and all contents"
_HIDDEN_REFERENCES = "grant it all of them (in Nessie VIEW_REFERENCE)"
_HIDDEN_CONTENTS = "grant it all contents (in Nessie READ_CONTENT_KEY)"
_GRANT = "; grant "
"""Part of the messages of connectors about a right that is missing."""
_ALL_RIGHTS = "docs/how-to/rights.md has all rights, and policies with them"
_NUMBERS = pa.schema([pa.field("number", pa.int64(), nullable=False)])
_LOCATIONS = pa.schema([pa.field("location", pa.string(), nullable=False)])
_PROBLEMS = pa.schema([pa.field("problem", pa.string(), nullable=False)])
_LACKING = pa.schema([pa.field("lacking", pa.string(), nullable=False)])


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found."""

    name: str
    passed: bool
    detail: str
    """What was found; where the check failed, what to do."""
    warning: bool = False
    """Whether it passed, and is probably not what was meant."""
    repository: str | None = None
    """The identity of the repository that it is about; ``None``: it is about no certain one."""

    @property
    def state(self) -> str:
        """``ok``, ``warn`` or ``failed``."""
        return "failed" if not self.passed else "warn" if self.warning else "ok"

    def __str__(self) -> str:
        return f"{self.state:6}  {self.name}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found."""

    detail: str
    repository: str | None = None
    """The identity of the repository that it is about."""


class Doubtful(Found):
    """What a check found that is probably not what was meant."""

    __slots__ = ()


def checked(name: str, check: Callable[[], str | Found]) -> CheckResult:
    """Runs one check; what it raises is its failure."""
    try:
        found = check()
        if isinstance(found, str):
            return CheckResult(name=name, passed=True, detail=found)
        doubt = isinstance(found, Doubtful)
        return CheckResult(name=name, passed=True, detail=found.detail, warning=doubt, repository=found.repository)
    except Exception as error:  # noqa: BLE001 - a check that fails never stops the others
        said = str(error) if isinstance(error, NessieGcError) else f"{type(error).__name__}: {one_line(error)}"
        said = f"{said}; {_ALL_RIGHTS}" if _GRANT in said else said
        return CheckResult(name=name, passed=False, detail=without_passwords(" ".join(said.split())))


def check_plugins(registry: PluginRegistry) -> str:
    """Whether all plugins could be loaded, and someone reads Iceberg."""
    broken = [f"{plugin.name} ({plugin.error})" for plugin in registry.broken]
    if broken:
        raise PluginError(
            f"broken: {', '.join(broken)}; nothing is deleted until they are repaired, uninstalled, or disabled with "
            "`disable_plugin`"
        )
    unread = [type_ for type_ in (ICEBERG_TABLE, ICEBERG_VIEW) if registry.reader_of(type_) is None]
    if unread:
        raise PluginError(f"no plugin reads {' and '.join(unread)}: pip install nessie-gc-iceberg-files")
    return ", ".join(plugin.origin for plugin in registry.plugins)


def check_repository(repository: RepositoryConnector, policies: ReferencePolicies | None = None) -> Found:
    """Whether the repository lists references, a log and contents, and every pattern of the policies matches one."""
    references = list(repository.references())
    names, identity, address = [each.name for each in references], repository.identity(), repository.address()
    named = address if address == identity else f"{address}, repository {identity},"
    found = f"{named} has {plural(len(names), 'reference')}"
    warnings = [
        *(unmatched_patterns(policies, names) if policies is not None else ()),
        *_hidden(repository, references),
    ]
    if warnings:
        return Doubtful("; ".join([found, *warnings]), identity)
    return Found(f"{found}; {_NOT_TRIED}", identity)


def _hidden(repository: RepositoryConnector, references: Sequence[Reference]) -> Iterator[str]:
    """What this account may not be allowed to see: a server may leave it out silently."""
    if not references:
        yield f"if it has some, this account may not see them: {_HIDDEN_REFERENCES}"
        return
    looks = list(_looks(repository, references))
    if all(look.content is None for look in looks):
        yield f"no table is visible there; if there are some, this account may not see them: {_HIDDEN_CONTENTS}"
        return
    bare = [shown(look.reference.name) for look in looks if look.content is None and look.has_commits]
    if bare:
        named = ", ".join(bare[:_NAMED]) + (f" and {len(bare) - _NAMED} more" if len(bare) > _NAMED else "")
        yield (
            f"no table is visible at {named}; if there are some, this account may not see them, and their files "
            f"would be deleted: {_HIDDEN_CONTENTS}"
        )


def visible_contents(repository: RepositoryConnector, references: Sequence[Reference]) -> Iterator[ContentVersion]:
    """A content of each of some references, the default branch first."""
    found = (first_of(contents_at(repository, each)) for each in _some_of(repository, references))
    return (content for content in found if content is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is visible at one reference."""

    reference: Reference
    has_commits: bool
    content: ContentVersion | None
    """The first one."""


def _looks(repository: RepositoryConnector, references: Sequence[Reference]) -> Iterator[_Look]:
    """Some references."""
    for reference in _some_of(repository, references):
        has_commits = first_of(repository.commit_log(reference)) is not None
        content = first_of(contents_at(repository, reference))
        yield _Look(reference=reference, has_commits=has_commits, content=content)


def _some_of(repository: RepositoryConnector, references: Sequence[Reference]) -> Sequence[Reference]:
    """Some references; the default branch first."""
    default = repository.default_reference() if isinstance(repository, SupportsDefaultReference) else None
    return sorted(references, key=lambda each: each.name != default)[:_LOOKED_AT]


def check_reading(choice: ConnectorChoice, repositories: Iterable[Iterable[ContentVersion]]) -> str | Doubtful:
    """Whether metadata can be read, of a table in every store that the contents of each repository are in.

    Metadata that is missing says nothing of rights.

    Args:
        choice: the readers.
        repositories: some contents of each.
    """
    read, missing = list[str](), list[str]()
    with OpenConnectors(choice) as connectors:
        for contents in repositories:
            for of_one_store in _by_store(choice.registry(), contents):
                try:
                    read.append(_first_read(connectors, of_one_store))
                except MissingFileError as error:
                    missing.append(str(error))
    if missing:
        return Doubtful("; ".join(missing))
    named = ", ".join(read[:_NAMED]) + (f" and {len(read) - _NAMED} more" if len(read) > _NAMED else "")
    return f"the metadata of {named} can be read" if read else "no table was found to try it with"


def _by_store(registry: PluginRegistry, contents: Iterable[ContentVersion]) -> Iterable[Sequence[ContentVersion]]:
    """Those with metadata that a plugin reads, by the store that it is in."""
    found = dict[str, list[ContentVersion]]()
    for content in contents:
        if content.metadata_location is not None and registry.reader_of(content.content_type) is not None:
            found.setdefault(store_of(content.metadata_location), []).append(content)
    return found.values()


def _first_read(connectors: OpenConnectors, contents: Sequence[ContentVersion]) -> str:
    """The key of the first content whose metadata is there.

    Raises:
        MissingFileError: none of it is.
        NessieGcError: it cannot be read.
    """
    missing: MissingFileError | None = None
    for content in contents:
        try:
            with connectors.reader(content.content_type) as reader:
                first_of(reader.files(content))
        except MissingFileError as error:
            missing = missing or error
            continue
        return shown(content.content_key)
    assert missing is not None
    raise missing


def check_store(store: LiveSetStore) -> str:
    """Whether the store answers, and which repositories it has live sets of."""
    newest: dict[str, LiveSet] = {}
    for each in store.live_sets():
        newest[each.repository] = max(each, newest.get(each.repository, each), key=lambda live_set: live_set.created)
    found = [f"{each.id} of {repository}, {each.status}" for repository, each in sorted(newest.items())]
    if not found:
        return "it has no live set yet; not tried: writing"
    if len(found) == 1:
        return f"its newest live set is {found[0]}; not tried: writing"
    return f"it has live sets of {len(found):,} repositories, the newest are {'; '.join(found)}; not tried: writing"


def check_location(choice: ConnectorChoice, location: str) -> str | Doubtful:
    """Whether a location can be listed, and its scheme deleted from; only the first file is asked for."""
    first = None
    with OpenConnectors(choice) as connectors:
        for listed in _listed(choice, location):
            connectors.deleter(listed)
            first = first or first_of(connectors.lister(listed).list_files(listed))
    if first is None:
        return Doubtful("it is empty, so nothing will be swept there; check the spelling")
    return f"it has files, such as {first.path}; not tried: deleting"


def check_engine(engine: Engine, choice: ConnectorChoice, locations: Iterable[str] = ()) -> str:
    """Whether the engine's workers run, have the plugins that this process has, and can list some locations."""
    check_connectors(engine, choice, locations)
    engine.check()
    numbers = engine.dataset(to_batches(((number,) for number in range(_TASKS)), _NUMBERS), _NUMBERS)
    found = numbers.spread(["number"]).flat_map(_LackingHere(choice)).distinct(_LACKING.names).summary()
    lacking: Sequence[str] = sorted(found.column("lacking").to_pylist())
    if lacking:
        raise PluginError("; ".join(lacking))
    _check_access(engine, choice, locations)
    return f"{engine.name} runs, and its workers have the same plugins"


def _check_access(engine: Engine, choice: ConnectorChoice, locations: Iterable[str]) -> None:
    """Refuses an engine whose workers cannot list what this process can; of others, the check of the location tells."""
    with OpenConnectors(choice) as connectors:
        listed = (each for location in locations for each in _listed(choice, location))
        rows: list[Row] = [(each,) for each in listed if _problem_of(connectors, each) is None]
    asked = engine.dataset(to_batches(iter(rows), _LOCATIONS), _LOCATIONS)
    problems = asked.spread(["location"]).flat_map(_ListFirst(choice)).summary().column("problem").to_pylist()
    if problems:
        raise AccessDeniedError(f"a worker cannot list {min(problems)}; give it the same credentials as the driver")


def check_connectors(engine: Engine, choice: ConnectorChoice, locations: Iterable[str]) -> None:
    """Refuses listers and deleters that do not work on the engine's workers."""
    with OpenConnectors(choice) as connectors:
        for listed in (listed for location in locations for listed in _listed(choice, location)):
            check_executors(engine, type(connectors.lister(listed)), type(connectors.deleter(listed)))


def _listed(choice: ConnectorChoice, location: str) -> tuple[str, ...]:
    """What a sweep of a location lists: without links, and with the scheme that its connectors know.

    Raises:
        UnknownLocationError: it would not be swept; the message says why.
    """
    plan = plan_units([location], choice.rules(), AllowedLocations(min_depth=0))
    if plan.unknown:
        raise UnknownLocationError(f"it is never swept: {plan.unknown[location]}")
    return tuple(listed for unit in plan.units for listed in unit.locations)


class _LackingHere:
    """Says which plugin the process lacks that runs it; the same question as before a file is deleted (S26)."""

    schema = _LACKING

    def __init__(self, choice: ConnectorChoice) -> None:
        self._choice = choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lacking = self._choice.lacking_plugin() if sum(batch.num_rows for batch in batches) else None
        rows: list[Row] = [(lacking,)] if lacking is not None else []
        yield from to_batches(iter(rows), self.schema)


class _ListFirst:
    """Locations to why they cannot be listed where this runs; those that can be are left out."""

    schema = _PROBLEMS

    def __init__(self, choice: ConnectorChoice) -> None:
        self._choice = choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            locations = (location for batch in batches for (location,) in to_texts(batch, "location"))
            problems = (_problem_of(connectors, location) for location in locations)
            yield from to_batches(((problem,) for problem in problems if problem is not None), self.schema)


def _problem_of(connectors: OpenConnectors, location: str) -> str | None:
    """Why a location cannot be listed here; ``None``: it can."""
    try:
        first_of(connectors.lister(location).list_files(location))
    except Exception as error:  # noqa: BLE001 - whatever a lister raises is the answer
        return f"{location}: {one_line(error)}"
    return None
