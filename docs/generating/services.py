"""The services of the distributions in this repository, and how a plugin adds one."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from isodate import duration_isoformat

from generating.connectors import OWN, ROOT
from generating.text import code, markdown, table
from nessie_gc_core.connectors import AnyService
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins.registry import installed

_INTRO = """# Services

A service does one job from beginning to end, such as a sweep. Each has a name, parameters and a report, and each is a
command: `nessie-gc NAME`, with an option for each parameter. From Python, `Collector` has a
[method](python.md#collector) for each of the built-in services, and `Collector.run("NAME", ...)` for any other.

A parameter has the same name everywhere: `min_age` in Python is `--min-age` on the command line, `min-age` in the
configuration file, and `NESSIE_GC_MIN_AGE` in the environment. Text is parsed as on the command line.

| type | accepted values |
|---|---|
| `timedelta` | seconds, or an ISO 8601 duration such as `P1D` or `PT6H` |
| `datetime` | an instant with an offset or `Z`, such as `2026-01-31T00:00:00Z` |
| `Sequence[str]` | several strings; on the command line the option can be repeated |
| `T \\| None` | a `T`, or nothing: no limit, or no choice |

"""
PLUGIN = ROOT / "examples" / "stale_references.py"
_OWN_SERVICE = """## A service of your own

A plugin registers a service like a connector: it implements the hook
[`nessie_gc_register_service`](contracts.md#nessie_gc_register_service) and returns the class. This is a complete
plugin, [examples/stale_references.py](../../examples/stale_references.py). Its service lists branches and tags whose
newest commit is old, because everything they reach stays live:

<!-- file: examples/stale_references.py -->
```python
{plugin}```

The package's `pyproject.toml` names it as an entry point in the group `nessie_gc`
([see the tutorial](../tutorial/write-a-plugin.md#package-it)):

<!-- not run: a part of a pyproject.toml; a test installs the plugin with this entry point -->
```toml
[project.entry-points.nessie_gc]
stale = "stale_references"
```

After installation, it is a command:

<!-- not run: the plugin must be installed; a test does that, and runs it -->
```console
$ python -m nessie_gc_core stale-references --older-than P30D --json
```

The class defines the following:

- **`name` and `aliases`** are the names of the command. If two plugins claim one name, the error names both plugins.
- **The docstring** is the help of the command, up to its first section such as `Args:`.
- **`Parameters`** become options of the command, keys of the configuration file, variables, and keywords of
  `Collector.run`. Do not use the name of a [setting](python.md#settings) for a parameter: every service also has the
  settings of repository, store and plugins.
- **`uses_files = False`** omits the options for engine and files, `uses_engine = False` those for the engine,
  `uses_repository = False` all of these and those for repository and live-set store.
- **The report** is printed as JSON with `--json`, otherwise as one line for each key. If it has a method `__rich__`,
  Rich prints it. Its `exit_code` is the exit code of the command.
- **The run** passed to it has the `repository`, the `store` and the `engine`, each opened on first use; see
  [`Run`](python.md#run).

To try it without installation, put its folder on the Python path and pass a collector a registry that contains it:

```python
import stale_references

from nessie_gc_core import Collector
from nessie_gc_core.plugins import PluginRegistry

registry = PluginRegistry.discover()
registry.register(stale_references, name="stale")
with Collector(plugins=registry, repository="memory", repository_option={{"lake": "empty"}}) as gc:
    assert {{"references": []}} == gc.run("stale-references", older_than="P30D").to_dict()
```
"""


def page() -> str:
    """The page."""
    parts = [_INTRO]
    for name, service in own_services().items():
        parts.append(_service(name, service))
    parts.append(_OWN_SERVICE.format(plugin=PLUGIN.read_text(encoding="utf-8")))
    return "\n".join(parts)


def own_services() -> dict[str, AnyService]:
    """The services that come from this repository, by name."""
    found = installed().services.by_name()
    return {name: found[name] for name in sorted(found) if found[name].__module__.partition(".")[0] in OWN}


def _service(name: str, service: AnyService) -> str:
    package = service.__module__.partition(".")[0].replace("_", "-")
    parts = [f"## {name}\n\n{markdown(inspect.getdoc(service))}\n"]
    facts = [f"Included in `{package}`.", _report_of(service)]
    if service.aliases:
        facts.insert(0, f"Also called {' and '.join(code(alias) for alias in service.aliases)}.")
    facts.append(_needs(service))
    parts.append(" ".join(facts) + "\n")
    head = ("parameter", "type", "default", "unit", "meaning")
    parts.append(table(head, ((code(n), code(t), code(d), u, m) for n, t, d, u, m in rows_of(service.Parameters))))
    return "\n".join(parts) + "\n"


def _needs(service: AnyService) -> str:
    if not service.uses_repository:
        return "Needs neither a repository nor a live-set store nor an engine."
    if not service.uses_files:
        return "Needs no engine."
    return "Reads or deletes files, and needs an engine." if service.uses_engine else "Reads files without an engine."


def _report_of(service: AnyService) -> str:
    report = inspect.signature(service.run).return_annotation
    return f"Report: [`{report}`](python.md#{str(report).lower()})."


UNITS = {
    "commit_retries": "retries",
    "delete_ratio_threshold": "deletes per record",
    "listed_snapshot_threshold": "snapshots",
    "max_delete_files": "delete files per data file",
    "max_small_files": "small files per large file",
    "manifest_threshold": "manifests",
    "max_commits": "commits",
    "metadata_size_threshold": "bytes",
    "retain_last": "snapshots",
    "snapshot_threshold": "snapshots",
    "allowed_fpp": "probability, 0 to 1",
    "expected_file_count": "files",
    "files_per_step": "files",
    "fpp": "probability, 0 to 1",
    "identify_parallelism": "references",
    "max_concurrent_deletes": "deletions",
    "max_delete_percent": "per cent, 0 to 100",
    "max_deletes": "files",
    "max_deletes_per_location": "files",
    "min_depth": "path elements",
    "purge_batch_size": "records",
    "purge_rate": "records per second",
    "seen_count": "runs",
    "branch_commits": "commits",
    "broken_share": "share, 0 to 1",
    "commits": "commits",
    "deletes_every": "snapshots",
    "deletes_per_commit": "files or vectors",
    "file_bytes": "bytes",
    "files_per_commit": "files",
    "garbage_files": "files per table",
    "listed_snapshots": "snapshots",
    "missing_share": "share, 0 to 1",
    "overwrite_every": "snapshots",
    "references": "references",
    "seed": "any number",
    "serve_lake_port": "TCP port",
    "statistics_every": "snapshots",
    "table_count": "tables",
    "throttled_share": "share, 0 to 0.9",
}
"""Units of parameters that are plain numbers."""


def rows_of(parameters: type[ConnectorOptions]) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, type, default, unit and meaning of each parameter, by name."""
    hints = typing.get_type_hints(parameters)
    for field in sorted(dataclasses.fields(parameters), key=lambda field: field.name):
        values = _values(hints[field.name])
        meaning = f"{field.metadata['help']}{f' One of {values}.' if values else ''}"
        yield field.name, str(field.type), _default(field), unit_of(field.name, str(field.type)), meaning


def unit_of(name: str, type_: str) -> str:
    """The unit of a parameter, or an empty string."""
    if type_.startswith("timedelta"):
        return "seconds, or ISO 8601"
    return "UTC" if type_.startswith("datetime") else UNITS.get(name, "")


def _values(hint: object) -> str:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(code(member.value) for member in hint)
    return ""


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if value is dataclasses.MISSING or value is None or value == () or isinstance(value, Mapping):
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    if hasattr(value, "total_seconds"):
        return str(duration_isoformat(value))
    return str(value) if isinstance(value, str) or not isinstance(value, Sequence) else ", ".join(value)
