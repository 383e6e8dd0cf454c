"""The reference's first page."""

from __future__ import annotations

from generating.text import table

_PAGES = (
    ("command-line.md", "every command and every option"),
    ("python.md", "the Python API: collector, plan, report"),
    ("services.md", "every service and its parameters; how a plugin adds its own"),
    ("models.md", "the data classes: every field with its type and unit"),
    ("configuration.md", "the configuration file, environment variables, and their precedence"),
    ("connectors.md", "every connector of this project, and its options"),
    ("contracts.md", "what a plugin implements: hooks, contracts, optional abilities; errors"),
    ("relations.md", "the relations between the phases of a run, column by column"),
    ("tables.md", "the tables of unreferenced assets, column by column"),
    ("report.md", "the report of a run, outcomes, exit codes, the status of a live set"),
    ("rights.md", "the rights that each command needs in each store, one by one"),
    ("compatibility.md", "which versions of Spark, Java, Scala, Python and Iceberg were tested together"),
    ("java-tool.md", "every option of the Java tool, and its equivalent"),
)


_INTRO = """# Reference

These pages are generated from the code, and a test fails if they differ.
The [API pages](../api/README.md) of the site have the same docstrings, with links between types. S1 to S35 are the
[safety rules](../explanation/safety.md). The [glossary](../glossary.md) explains the terms.

"""


def page() -> str:
    """The page."""
    rows = table(("page", "contents"), ((f"[{name}]({name})", text) for name, text in _PAGES))
    return _INTRO + rows
