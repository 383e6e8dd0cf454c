"""Relations, and the report of a run."""

from __future__ import annotations

import dataclasses
from types import ModuleType

import pyarrow as pa

from generating.text import attribute_docs, code, markdown, table
from nessie_gc_core.model import live_sets, relations, report_format, verdicts
from nessie_gc_core.services import report
from nessie_gc_core.services.ending import INTERRUPTED, TERMINATED
from nessie_gc_core.services.report import GcReport

_OUTCOMES = {
    "deleted": "it was deleted",
    "already_gone": "something else had already deleted it",
    "failed": "it could not be deleted; `failed_files` has reasons",
    "spared": "a moved reference, a veto, a cap, or a location that became unknown keeps it; see `spared_files`",
    "too_young": "it is not old enough, its time is unknown, or its time is in the future",
    "quarantined": "it was moved to a [quarantine](../how-to/quarantine.md)",
    "deferred": "its deletion is recorded for `deferred-deletes`",
    "would_delete": "a real run would delete it; this was a dry run",
}


def relations_page() -> str:
    """The relations."""
    texts = attribute_docs(relations)
    parts = ["# Relations\n", markdown(relations.__doc__) + "\n"]
    for name, schema in vars(relations).items():
        if isinstance(schema, pa.Schema):
            rows = ((code(f.name), code(f.type), "yes" if f.nullable else "no") for f in schema)
            parts.append(f"## {name}\n\n{texts.get(name, '')}\n\n{table(('column', 'type', 'may be null'), rows)}\n")
    return "\n".join(parts)


def report_page() -> str:
    """The report."""
    outcomes = [outcome.value for outcome in verdicts.Outcome]
    assert set(outcomes) == set(_OUTCOMES)
    parts = [
        "# Report\n",
        "`--json` prints one object to standard output, and everything else to standard error. See",
        "[how to read it](../explanation/verdicts-and-reports.md).\n",
        "## Format\n",
        f"The first field of each object that `--json` prints is `{report_format.KEY}`: {report_format.FORMAT}.",
        "That goes for reports of all services, lists and errors. Webhooks have it, and so has the metadata of",
        f"each Parquet file with outcomes, under the key `{report_format.FILE_KEY.decode()}`. What can change:\n",
        "- **The number is raised** when a field is removed or renamed, or its type, unit or meaning changes.",
        "- **It stays** when fields are added, or new names of states, findings and kinds.",
        "- **In Python** (and in Airflow without `executable`), `to_dict()` has the same fields without `format`.",
        "- **Texts for people** (`error`, `text`, `reason`, `warnings` and the like) may change at any time.\n",
        "So read the fields that you need, ignore others, and stop if the number is not the one that you know:",
        "`jq -e 'if .format == 1 then .deleted.bytes else error end' report.json`.\n",
        "## Fields\n",
        "These are the fields of a collection, such as `gc`, `mark` and `sweep`;",
        "[Python](python.md) has the classes of other reports.\n",
        table(("field", "meaning"), fields_of_report()),
        f"\nLists of names end after {report.MAX_NAMES}; `--outcomes-to FILE` lists every file.\n",
        "## Outcomes\n",
        "Each unreferenced file has exactly one outcome; `unreferenced` is their sum, in files and in bytes.\n",
        table(("outcome", "meaning"), ((code(name), _OUTCOMES[name]) for name in outcomes)),
        "\n## Verdicts\n",
        f"{markdown(verdicts.Verdict.__doc__)}\n",
        ", ".join(code(verdict.value) for verdict in verdicts.Verdict) + ": see [relations](relations.md#verdicts).\n",
        "## Exit codes\n",
        table(("code", "when"), _EXIT_CODES),
        "\n## Status of a live set\n",
        ", ".join(code(status.value) for status in live_sets.LiveSetStatus) + ".\n",
        _status(live_sets),
    ]
    return "\n".join(parts)


_EXIT_CODES = (
    ("`0`", "done; *lost*, *unread* and *refused* are reported, but are not failures"),
    (
        "`1`",
        "the run failed, or a file could not be deleted, or a location stayed *unknown*, or a file was *unreadable*",
    ),
    ("`2`", "wrong usage: an option, a policy, a configuration, a plugin that is missing or broken"),
    (f"`{INTERRUPTED}`", "interrupted"),
    (f"`{TERMINATED}`", "terminated"),
)


def fields_of_report() -> list[tuple[str, str]]:
    """The fields of the report as JSON has it: name, meaning."""
    texts = {
        **attribute_docs(GcReport),
        "phases": "Seconds per phase: mark, expand, list (at the same time), subtract, recheck, delete.",
    }
    known = {field.name for field in dataclasses.fields(GcReport)}
    rows = [(code(report_format.KEY), "The version of this [format](#format).")]
    for name, value in GcReport().to_dict().items():
        text = texts.get(name, "") if name in known else ""
        rows.append((code(name), " ".join([_MORE.get(name, text), _shape(name, value)]).strip()))
    return rows


_MORE = {
    "repository": "Identity of the repository, without credentials; several are separated by commas.",
    "address": "Its address, only for display; several are separated by commas.",
    "repositories": "The repository, or all that were marked or swept together: "
    '`[{"repository": "...", "address": "...", "live_set_id": "...", "unread": "..."}]`; `unread` says why it '
    "could not be read.",
    "engine": "`spark` or `local`; null for a mark.",
    "dry_run": "Whether it was a dry run.",
    "started": "Start time, UTC.",
    "finished": "End time, UTC.",
    "references": "Number of branches and tags.",
    "contents": "Number of distinct content ids.",
    "content_versions": "Number of distinct states of contents.",
    "files_listed": "Number of stored files in the swept locations.",
    "unreferenced": "The sum of the seven outcomes.",
    "counts": "Numbers of `unknown`, `unreadable`, `unread`, `refused`, `left_out` and `dropped`; a hundred of each "
    "are named.",
    "known_unknowns": "With `--known-unknowns`, the `file`, and how many unknown places and unreadable files are "
    "`known` and `new`; each object of `unknown` and `unreadable` then has `known`, too. Otherwise `null`.",
    "tables": "With `--by-table`, a row for each location: `tables`, `location`, `files_listed`, `unreferenced`, each "
    "outcome that occurs, and `left_alone`, the reason why it was not swept. Otherwise `null`.",
    "lost": "Reachable files that are not stored: their number, and the first names.",
    "failed_files": "Names and reasons.",
    "spared_files": "Names and reasons.",
    "warnings": "One line each.",
    "exit_code": "The exit code of the command.",
    "live_set_id": "Id of the live set; with several repositories, the id that stands for all of them.",
    **{name: f"An [outcome](#outcomes): {text}." for name, text in _OUTCOMES.items()},
}


_LISTS = {
    **dict.fromkeys(("unknown", "unread", "refused", "left_out", "dropped"), "location"),
    **dict.fromkeys(("unreadable", "failed_files", "spared_files"), "path"),
}
"""Fields that are lists of objects, and what each object names."""


def _shape(name: str, value: object) -> str:
    if name in _LISTS:
        return f'`[{{"{_LISTS[name]}": "...", "reason": "..."}}]`'
    return '`{"files": n, "bytes": n}`' if isinstance(value, dict) and set(value) == {"files", "bytes"} else ""


def _status(module: ModuleType) -> str:
    return markdown(module.LiveSetStatus.__doc__)
