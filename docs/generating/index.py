"""The reference's first page."""

from __future__ import annotations

from generating.text import table

_PAGES = (
    ("command-line.md", "every command and every option"),
    ("python.md", "the Python API: collector, plan, report"),
    ("services.md", "every service and its parameters; how a plugin brings its own"),
    ("models.md", "the data classes: every field with its type and unit"),
    ("configuration.md", "the configuration file, variables of the environment, and which source wins"),
    ("connectors.md", "every connector that comes with the project, and its options"),
    ("contracts.md", "what a plugin implements: hooks, contracts, optional abilities; errors"),
    ("relations.md", "the relations between the phases of a run, column by column"),
    ("tables.md", "the tables of unreferenced assets, column by column"),
    ("report.md", "the report of a run, outcomes, exit codes, the status of a live set"),
    ("java-tool.md", "every option of the Java tool, and what became of it"),
)


_INTRO = """# Reference

These pages are written from the code, and a test fails where they differ.
The [API pages](../api/README.md) of the site have the same docstrings, with links between types. S1 to S28 are the
[safety rules](../explanation/safety.md). The words are in the [glossary](../glossary.md).

"""


def page() -> str:
    """The page."""
    rows = table(("page", "what it holds"), ((f"[{name}]({name})", text) for name, text in _PAGES))
    return _INTRO + rows
