"""``python docs/generate.py``: writes the reference from the code; with ``--check`` only says what is out of date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generating import (
    architecture,
    commands,
    configuration,
    connectors,
    contracts,
    data,
    index,
    java_tool,
    models,
    python,
    services,
    tables,
)

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
PAGES = {
    "README.md": index.page,
    "command-line.md": commands.page,
    "configuration.md": configuration.page,
    "connectors.md": connectors.page,
    "contracts.md": contracts.page,
    "java-tool.md": java_tool.page,
    "models.md": models.page,
    "python.md": python.page,
    "relations.md": data.relations_page,
    "report.md": data.report_page,
    "services.md": services.page,
    "tables.md": tables.page,
}
"""File name to the function that writes its text."""
NOTE = "<!-- Written by docs/generate.py from the code: change the code, and run it again. -->\n\n"


def main() -> int:
    """Writes or checks all pages."""
    stale = []
    for path, text in texts():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"out of date: {', '.join(stale)}\n" if stale else "up to date\n")
    return 1 if stale and "--check" in sys.argv else 0


def texts() -> Iterator[tuple[Path, str]]:
    """Each file that is written from the code, and its text."""
    for name, page in PAGES.items():
        yield REFERENCE / name, NOTE + page().strip() + "\n"
    yield architecture.PICTURE, architecture.picture()
    yield architecture.PAGE, architecture.page()


if __name__ == "__main__":
    sys.exit(main())
