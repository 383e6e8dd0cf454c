"""What the configuration files of Hadoop's clients say, ``core-site.xml`` and ``hdfs-site.xml``, and nothing more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from nessie_gc_core.errors import ConfigurationError

FILES = ("core-site.xml", "hdfs-site.xml")
"""In the order in which Hadoop reads them: a later value wins, unless an earlier one is final."""
_REFERENCE = re.compile(r"\$\{([^}$\s]+)\}")
_MOST_REFERENCES = 20
"""So deep Hadoop itself goes."""


class HadoopFiles:
    """The properties of a folder's files, with the references between them resolved."""

    def __init__(self, folder: Path) -> None:
        """Reads the files that are there.

        Raises:
            ConfigurationError: one of them cannot be read, or none is there.
        """
        self.folder = folder
        self._values: dict[str, str] = {}
        final: set[str] = set()
        found = [path for path in (folder / name for name in FILES) if path.is_file()]
        if not found:
            raise ConfigurationError(f"{folder} has neither {FILES[0]} nor {FILES[1]}; name the folder that has them")
        for path in found:
            for name, value, is_final in _properties(path):
                if name not in final:
                    self._values[name] = value
                if is_final:
                    final.add(name)

    def get(self, name: str) -> str:
        """A value without space around it; empty if the files do not have it.

        Raises:
            ConfigurationError: it refers to something that the files do not have.
        """
        value = self._values.get(name, "")
        for _ in range(_MOST_REFERENCES):
            resolved = _REFERENCE.sub(lambda match: self._values.get(match[1], match[0]), value)
            if resolved == value:
                break
            value = resolved
        if "${" in value:
            raise ConfigurationError(f"{name} in {self.folder} is {value!r}, which cannot be resolved; write it out")
        return value.strip()

    def listed(self, name: str) -> list[str]:
        """A value with commas in it."""
        return [part.strip() for part in self.get(name).split(",") if part.strip()]


def _properties(path: Path) -> list[tuple[str, str, bool]]:
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    strange = [each.tag for each in root if each.tag != "property"]
    if root.tag != "configuration" or strange:
        raise ConfigurationError(
            f"{path} is not a plain configuration file of Hadoop ({(strange or [root.tag])[0]}): files that include "
            "others are not read; write the properties out"
        )
    return [(_text(each, "name"), _text(each, "value"), _text(each, "final") == "true") for each in root]


def _text(each: ElementTree.Element, name: str) -> str:
    value: Mapping[str, str] = each.attrib  # Hadoop reads both forms
    return (each.findtext(name) or value.get(name, "")).strip()
