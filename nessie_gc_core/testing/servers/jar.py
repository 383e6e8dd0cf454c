"""Where Nessie's runner jar comes from, and how it gets into our cache: verified, whole, once."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.java import installed_javas

NESSIE_VERSION = "0.99.0"
"""The server that is tested against."""
NESSIE_JAR_SHA256 = "ce9fa33e2878bf5ea3981876b9e6204cabc0362b3dd82326b10e47271a78c417"
"""Digest of the runner jar of that version."""
NESSIE_JAR_VARIABLE = "NESSIE_GC_NESSIE_JAR"
"""Environment variable that names a jar; any version, and its digest is not checked."""

_GROUP = "org.projectnessie.nessie"
_ARTIFACT = "nessie-quarkus"
_FILE_NAME = f"{_ARTIFACT}-{NESSIE_VERSION}-runner.jar"
_MAVEN_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_DOWNLOAD_TIMEOUT_SECONDS = 1800


def nessie_jar() -> Path:
    """The runner jar: the one that ``NESSIE_GC_NESSIE_JAR`` names, else the cached one, else fetched into the cache.

    Raises:
        ConfigurationError: it cannot be had; the message says what was tried.
    """
    named = os.environ.get(NESSIE_JAR_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ConfigurationError(f"{NESSIE_JAR_VARIABLE} names {named}, which is not a file; correct or unset it")
        return Path(named)
    return cached_nessie_jar(Path(platformdirs.user_cache_dir("nessie-gc")), SOURCES)


def cached_nessie_jar(
    cache: Path, sources: dict[str, Callable[[Path], Path | None]], *, sha256: str = NESSIE_JAR_SHA256
) -> Path:
    """The jar in a cache folder, fetched from the first source that has it.

    A source gets an empty folder and gives the path of a jar, or ``None`` where it has none.
    """
    target = cache / _FILE_NAME
    verified = cache / f"{_FILE_NAME}.{sha256[:16]}.verified"
    if _is_verified(target, verified):
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{_FILE_NAME}.lock"):
        if _is_verified(target, verified):
            return target
        if not (target.is_file() and _sha256(target) == sha256):
            _fetch(target, sources, sha256)
        verified.write_text(_fingerprint(target), encoding="utf-8")
    return target


def _fetch(target: Path, sources: dict[str, Callable[[Path], Path | None]], sha256: str) -> None:
    tried = []
    for name, fetch in sources.items():
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            found = fetch(Path(folder))
            if found is None:
                tried.append(f"{name}: nothing")
                continue
            partial = Path(folder) / f"{target.name}.partial"
            shutil.copyfile(found, partial)
            digest = _sha256(partial)
            if digest == sha256:
                partial.replace(target)
                return
            tried.append(f"{name}: another file (SHA-256 {digest[:12]}…)")
    raise ConfigurationError(
        f"Nessie's server {_GROUP}:{_ARTIFACT}:{NESSIE_VERSION}:runner cannot be had ({'; '.join(tried)}); "
        f"download the jar and set {NESSIE_JAR_VARIABLE} to it"
    )


def _from_local_maven(folder: Path) -> Path | None:
    jar = Path.home().joinpath(".m2", "repository", *_GROUP.split("."), _ARTIFACT, NESSIE_VERSION, _FILE_NAME)
    return jar if jar.is_file() else None


def _from_maven(folder: Path) -> Path | None:
    maven = shutil.which("mvn")
    if maven is None:
        return None
    coordinates = f"{_GROUP}:{_ARTIFACT}:{NESSIE_VERSION}:jar:runner"
    options = [f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}", "-Dmdep.useBaseVersion=true"]
    return _run([maven, "-q", "-B", f"{_MAVEN_DEPENDENCY_PLUGIN}:copy", *options], folder)


def _from_ivy(folder: Path) -> Path | None:
    """Spark brings Ivy along; unlike ``spark.jars.packages``, Ivy itself takes classifiers."""
    pyspark = importlib.util.find_spec("pyspark")
    java = next(installed_javas(), None)
    if pyspark is None or pyspark.origin is None or java is None:
        return None
    settings, module = folder / "ivysettings.xml", folder / "ivy.xml"
    settings.write_text(_IVY_SETTINGS, encoding="utf-8")
    module.write_text(_IVY_MODULE, encoding="utf-8")
    retrieve = ["-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
    files = ["-cache", str(folder / "ivy"), "-settings", str(settings), "-ivy", str(module)]
    jars = str(Path(pyspark.origin).parent / "jars" / "*")
    return _run([str(java.executable), "-cp", jars, "org.apache.ivy.Main", *files, *retrieve], folder)


def _run(command: list[str], folder: Path) -> Path | None:
    try:
        subprocess.run(command, cwd=folder, capture_output=True, timeout=_DOWNLOAD_TIMEOUT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    jar = folder / _FILE_NAME
    return jar if jar.is_file() else None


SOURCES: dict[str, Callable[[Path], Path | None]] = {
    "local Maven repository": _from_local_maven,
    "mvn": _from_maven,
    "Ivy of pyspark": _from_ivy,
}
"""Where the jar is looked for, in this order."""

_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
_IVY_MODULE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="nessie-gc" module="nessie-server"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="{_GROUP}" name="{_ARTIFACT}" rev="{NESSIE_VERSION}" transitive="false" conf="default->default">
      <artifact name="{_ARTIFACT}" type="jar" ext="jar" m:classifier="runner"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


def _is_verified(target: Path, verified: Path) -> bool:
    return target.is_file() and verified.is_file() and verified.read_text(encoding="utf-8") == _fingerprint(target)


def _fingerprint(path: Path) -> str:
    """Changes when the file does; saves reading 245 MB at every start."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits until this process alone holds the lock file (two that fetch at once do no harm, only work)."""
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
