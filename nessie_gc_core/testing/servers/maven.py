"""Jars by their Maven coordinates: from the local repository, by Maven, or by the Ivy that comes with pyspark."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

from nessie_gc_core.testing.servers.java import installed_javas

_PLUGIN = ("org.apache.maven.plugins", "maven-dependency-plugin", "3.6.1")
_TIMEOUT_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One jar of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str = ""

    @classmethod
    def parse(cls, coordinates: str) -> Self:
        """Reads ``group:name:version`` or ``group:name:version:classifier``."""
        group, name, version, *classifier = coordinates.split(":")
        return cls(group=group, name=name, version=version, classifier="".join(classifier))

    @property
    def file_name(self) -> str:
        """What the jar is called in a repository."""
        return "-".join(part for part in (self.name, self.version, self.classifier) if part) + ".jar"


Fetch = Callable[[Sequence[Artifact], Path], None]
"""Puts those of some jars into a folder that it can get, by their file names."""


def from_local_repository(artifacts: Sequence[Artifact], folder: Path) -> None:
    """What Maven fetched before."""
    for artifact in artifacts:
        place = Path.home().joinpath(".m2", "repository", *artifact.group.split("."), artifact.name, artifact.version)
        if (place / artifact.file_name).is_file():
            shutil.copyfile(place / artifact.file_name, folder / artifact.file_name)


def by_maven(artifacts: Sequence[Artifact], folder: Path) -> None:
    """Asks ``mvn``, where it is installed, for the jars alone, and not for what they depend on."""
    maven = shutil.which("mvn")
    if maven is None:
        return
    items = "".join(f"<artifactItem>{_maven_item(artifact)}</artifactItem>" for artifact in artifacts)
    configuration = f"<configuration><artifactItems>{items}</artifactItems></configuration>"
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(plugin=_tags(_coordinates(*_PLUGIN)), configuration=configuration), encoding="utf-8")
    options = [f"-DoutputDirectory={folder}", "-Dmdep.useBaseVersion=true"]
    _run([maven, "-q", "-B", "-f", str(pom), f"{':'.join(_PLUGIN)}:copy", *options], folder)


def by_ivy(artifacts: Sequence[Artifact], folder: Path) -> None:
    """Asks the Ivy of pyspark; unlike ``spark.jars.packages``, Ivy itself takes classifiers."""
    pyspark = importlib.util.find_spec("pyspark")
    java = next(installed_javas(), None)
    if pyspark is None or pyspark.origin is None or java is None:
        return
    settings, module = folder / "ivysettings.xml", folder / "ivy.xml"
    settings.write_text(_IVY_SETTINGS, encoding="utf-8")
    module.write_text(_IVY_MODULE.format(dependencies=_ivy_dependencies(artifacts)), encoding="utf-8")
    retrieve = ["-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
    files = ["-cache", str(folder / "ivy"), "-settings", str(settings), "-ivy", str(module)]
    jars = str(Path(pyspark.origin).parent / "jars" / "*")
    _run([str(java.executable), "-cp", jars, "org.apache.ivy.Main", *files, *retrieve], folder)


SOURCES: Mapping[str, Fetch] = {
    "local Maven repository": from_local_repository,
    "mvn": by_maven,
    "Ivy of pyspark": by_ivy,
}
"""Where jars are looked for, in this order."""


def _run(command: Sequence[str], folder: Path) -> None:
    """Runs a program; what it got is seen in the folder, whatever it says in the end."""
    try:
        subprocess.run(command, cwd=folder, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return


def _coordinates(group: str, name: str, version: str) -> dict[str, str]:
    return {"groupId": group, "artifactId": name, "version": version}


def _maven_item(artifact: Artifact) -> str:
    more = {"classifier": artifact.classifier} if artifact.classifier else {}
    return _tags({**_coordinates(artifact.group, artifact.name, artifact.version), **more})


def _tags(texts: Mapping[str, str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in texts.items())


def _ivy_dependencies(artifacts: Sequence[Artifact]) -> str:
    """One entry for each module, whatever is asked of it: Ivy takes the last of two."""
    modules: dict[tuple[str, str, str], list[str]] = {}
    for artifact in artifacts:
        classifier = f' m:classifier="{artifact.classifier}"' if artifact.classifier else ""
        asked = f'<artifact name="{artifact.name}" type="jar" ext="jar"{classifier}/>'
        modules.setdefault((artifact.group, artifact.name, artifact.version), []).append(asked)
    return "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" transitive="false" conf="default->default">'
        f"{''.join(asked)}</dependency>"
        for (group, name, version), asked in modules.items()
    )


_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>nessie-gc</groupId><artifactId>jars</artifactId><version>1</version>
  <packaging>pom</packaging><build><plugins><plugin>{plugin}{configuration}</plugin></plugins></build>
</project>
"""
_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
_IVY_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="nessie-gc" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""
