"""The public face in Python."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable

from nessie_gc_internal import (
    InternalGc,
    InternalGcPlan,
    InternalGcReport,
    KindTally,
    RecordTally,
    UnseenContent,
)
from nessie_gc_memory import MakeLakeReport
from nessie_gc_memory.mock import MockCounts

from generating.data import fields_of_report
from generating.text import attribute_docs, code, markdown, member_parts, signature, table
from nessie_gc_core.api import (
    AssetsReport,
    AutotagReport,
    Collector,
    CompactionReport,
    ExpiryReport,
    ExplainReport,
    GcReport,
    HealthReport,
    ImportJavaReport,
    ManifestsReport,
    Plan,
    PlanSummary,
    PurgeReport,
    ReleaseReport,
    Run,
    SavedPlan,
    Schedule,
    ServicePlan,
    UnreferencedAssets,
    WhatIfReport,
    delete_unreferenced_assets,
    expire_snapshots,
    identify_unreferenced_assets,
    procedures,
    remove_orphan_files,
)
from nessie_gc_core.api.planning import Planning
from nessie_gc_core.api.questions import Questions
from nessie_gc_core.api.upkeep import Upkeep
from nessie_gc_core.config.settings import SETTINGS
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.services import run as run_module
from nessie_gc_core.services.assets.page.service import AssetPageReport
from nessie_gc_core.services.autotag.report import TagOutcome, TagResult
from nessie_gc_core.services.check import CheckResult
from nessie_gc_core.services.compaction.report import Compacted, CompactedPartition, CompactedTable, TableFiles
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.report import ExpiredTable
from nessie_gc_core.services.explain.report import ExplainedFile, NeedingVersion, Standing
from nessie_gc_core.services.health.report import Finding, FindingName, TableHealth
from nessie_gc_core.services.java_import.report import ImportedLiveSet
from nessie_gc_core.services.manifests.report import ManifestFigures, Reorganized, ReorganizedTable
from nessie_gc_core.services.plans.file import PlanHeader
from nessie_gc_core.services.pruning import KeptLiveSet, PruneReport
from nessie_gc_core.services.report import NamedFile, WrittenPlan
from nessie_gc_core.services.stored_live_sets import LiveSetDetails, LiveSetService
from nessie_gc_core.services.tally import TableTally, Tally
from nessie_gc_core.services.what_if import EndedState, EndedStates
from nessie_gc_core.services.work_branch import Merged, MergeReport

CLASSES = (
    Collector,
    Plan,
    SavedPlan,
    PlanSummary,
    PlanHeader,
    GcReport,
    Tally,
    TableTally,
    NamedFile,
    WrittenPlan,
    ReleaseReport,
    UnreferencedAssets,
    AssetsReport,
    PurgeReport,
    AssetPageReport,
    AssetRun,
    ExpiryReport,
    ExpiredTable,
    Committed,
    HealthReport,
    TableHealth,
    Finding,
    FindingName,
    ServicePlan,
    MergeReport,
    Merged,
    AutotagReport,
    TagResult,
    TagOutcome,
    ExplainReport,
    ExplainedFile,
    NeedingVersion,
    Standing,
    WhatIfReport,
    EndedStates,
    EndedState,
    InternalGc,
    InternalGcPlan,
    InternalGcReport,
    KindTally,
    RecordTally,
    UnseenContent,
    MakeLakeReport,
    MockCounts,
    CheckResult,
    LiveSetService,
    LiveSetDetails,
    PruneReport,
    KeptLiveSet,
    Schedule,
    ScheduledJob,
    JobRun,
    Occasion,
    RunStatus,
    ImportJavaReport,
    ImportedLiveSet,
    ManifestsReport,
    ReorganizedTable,
    Reorganized,
    ManifestFigures,
    CompactionReport,
    CompactedTable,
    Compacted,
    CompactedPartition,
    TableFiles,
    LocalFrame,
    Run,
)
"""The public classes, in the order of the page."""
FUNCTIONS = (identify_unreferenced_assets, delete_unreferenced_assets, expire_snapshots, remove_orphan_files)
"""The procedures."""
_INTRO = """# Python

This is the public Python API. [Use it from Python](../how-to/python.md) has examples.

<!-- not run: it only shows the imports -->
```python
from nessie_gc_core import Collector, Schedule
from nessie_gc_core.api import GcReport, Plan, Run
from nessie_gc_core.model import LiveSet, Outcome
```

The other classes on this page are return values of these. [Models](models.md) describes the data classes,
[contracts](contracts.md#errors) the errors, [services](services.md) the parameters of each call.

"""
_SETTINGS = """#### Settings

Every setting is a keyword of `Collector(...)`, with the same name as in the configuration file, but with underscores:
`jdbc-url` in the file is `jdbc_url` here. [Configuration](configuration.md#keys-and-variables) lists the settings, and
[the command line](command-line.md#options) describes each. A value is of the setting's type, or text that is parsed as
on the command line. A keyword takes precedence over a `NESSIE_GC_...` variable, which takes precedence over the file.
"""
_PARAMETERS = """
You can also pass the [parameters of a service](services.md), such as `min_age` or `allow`, here. They become the
defaults of `plan`, `mark`, `sweep`, `collect` and `delete_deferred`, whose own keywords take precedence.
"""
_PROGRESS = """## Progress

`Collector(progress=...)` takes a function `{signature}`. {text} The phases are `mark` (counts references), `expand`
(counts content versions and metadata files, out of those known so far), `list` (counts files; the total is not known),
`subtract` (reports only its start), and `delete` (counts steps). Spark reports files as tasks end; Spark Connect
reports only the start and end of a level. If the function raises an exception, the run ends.

Files are expanded and listed at the same time, so the function is called from several threads, one call at a time. If
the object also has a method `show_traffic(traffic: Traffic)`, that method is called with the requests to the stores so
far.
"""
_MORE: dict[str, dict[str, str]] = {
    "GcReport": {
        "outcomes": "Files and bytes for each `Outcome`.",
        "lost_files": "The first lost files.",
        "failed_files": "The first files that could not be deleted, with reasons.",
        "spared_files": "The first files that were spared, with reasons.",
    },
    "Tally": {"files": "Number of files.", "bytes": "Their size in bytes."},
    "NamedFile": {"path": "The file, as the listing or the metadata names it.", "reason": "One line."},
    "CheckResult": {"name": "What was checked.", "passed": "Whether the check passed."},
    "LiveSetDetails": {
        "live_set": "The live set.",
        "content_versions": "Distinct states of contents.",
        "contents": "Distinct content ids.",
        "base_locations": "Pairs of a content id and a base location.",
        "deferred_files": "Files whose deletion is deferred.",
        "deferred_bytes": "Their size in bytes.",
    },
    "LiveSetService": {"store": "The live-set store."},
    "ScheduledJob": {"paused": "Whether no new run of it starts."},
    "JobRun": {
        "id": "Unique.",
        "job": "The name of the job.",
        "service": "The service that it runs.",
        "occasion": "What it is due for.",
        "status": "What became of it.",
        "started": "When it started, UTC.",
        "ended": "When it ended; `None` while it goes on.",
        "exit_code": "That of the command; `None` if there is none.",
        "host": "The machine of its scheduler.",
        "process": "The process of its scheduler.",
    },
    "Run": {
        "report": "The report, which the run fills in.",
        "clock": "Returns the current time, UTC.",
        "progress": "Called with the progress of the run.",
    },
}
"""Fields without a text in the code, because their name is enough there."""


def page() -> str:
    """The page."""
    parts = [_INTRO, _collector()]
    parts += [_class(class_) for class_ in CLASSES if class_ is not Collector]
    parts.append(f"## Procedures\n\n{markdown(inspect.getdoc(procedures))}\n")
    parts += [_function(function) for function in FUNCTIONS]
    text = attribute_docs(run_module)["Progress"]
    parts.append(_PROGRESS.format(signature="progress(phase: str, done: int, total: int | None)", text=text))
    return "\n".join(parts)


def _collector() -> str:
    rows = ((_group(group), ", ".join(code(f.name) for f in dataclasses.fields(group))) for group in SETTINGS)
    parts = [
        f"## Collector\n\n{_text(Collector)}\n",
        f"#### Collector()\n\n{signature('Collector', Collector.__init__)}\n\n{markdown(Collector.__init__.__doc__)}\n",
        _SETTINGS,
        table(("settings", "keywords"), rows),
        _PARAMETERS,
        "#### with\n\n`with Collector(...) as gc:` closes it at the end, as `close()` does.\n",
        *member_parts(Collector, level=4),
        *member_parts(Planning, level=4, of=Collector),
        *member_parts(Questions, level=4, of=Collector),
        *member_parts(Upkeep, level=4, of=Collector),
    ]
    return "\n".join(parts)


def _group(group: type[ConnectorOptions]) -> str:
    return markdown(group.__doc__)


def _class(class_: type) -> str:
    parts = [f"## {class_.__name__}\n\n{_text(class_)}\n"]
    rows = fields_of(class_)
    if rows:
        parts.append(table(("field", "type", "meaning"), ((code(n), code(t), text) for n, t, text in rows)) + "\n")
    parts += member_parts(class_, level=4)
    return "\n".join(parts)


def _function(function: Callable[..., object]) -> str:
    name = function.__name__
    return f"## {name}\n\n{signature(name, function)}\n\n{markdown(function.__doc__)}\n"


def fields_of(class_: type) -> list[tuple[str, str, str]]:
    """The fields of a data class: name, type, meaning."""
    if not dataclasses.is_dataclass(class_):
        return []
    texts = {**_MORE.get(class_.__name__, {}), **attribute_docs(class_)}
    if class_ is GcReport:
        texts = {**{name.strip("`"): text for name, text in fields_of_report()}, **texts}
    return [(f.name, str(f.type).strip('"'), texts.get(f.name, "")) for f in dataclasses.fields(class_)]


def _text(class_: type) -> str:
    return markdown(inspect.getdoc(class_), not_run="a part of a docstring; the how-to page runs the same").strip()
