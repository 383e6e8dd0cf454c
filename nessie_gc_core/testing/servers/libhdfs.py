"""Hadoop's native client, which pyarrow loads to reach HDFS: no package has it, so it is compiled from its sources."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.jar import locked
from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import Java, JavaRole, installed_javas

_CRATE, _CRATE_VERSION = "hdfs-sys", "0.3.0"
"""The package that has the sources, as Hadoop publishes them."""
_CRATE_SHA256 = "33e2d5cefba2d51a26b44d2a493f963a32725a0f6593c91be4a610ad449c49cb"
_SOURCES = Path("libhdfs", "hdfs_3_3")
_INCLUDED = ("..", ".", "include", "os", "os/posix")
_MANIFEST = '[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{} = "={}"\n'
_TIMEOUT_SECONDS = 600
_SMALL = "-Xmx256m -Xrs"
"""Options of the Java that the client starts in the process that uses it; signals stay with that process."""


def libhdfs_environment(configuration: Path) -> Mapping[str, str]:
    """The environment of a process in which pyarrow can reach HDFS; it must be set before pyarrow's first attempt.

    Args:
        configuration: the folder with the files that Hadoop's clients have.

    Raises:
        ConfigurationError: a compiler, ``cargo``, a Java with its headers, or a jar is missing.
    """
    java = _java()
    folders = [class_path(program).removesuffix("/*") for program in ("hdfs", "libhdfs")]
    # The client takes no patterns, and the first entry is where it finds its configuration.
    jars = [str(jar) for folder in folders for jar in sorted(Path(folder).glob("*.jar"))]
    return {
        "ARROW_LIBHDFS_DIR": str(_library(java).parent),
        "CLASSPATH": ":".join([str(configuration), *jars]),
        "JAVA_HOME": str(java.home),
        "LIBHDFS_OPTS": _SMALL,
    }


def _java() -> Java:
    """The first Java that can be HDFS and has the headers of its native interface."""
    for java in installed_javas():
        if JavaRole.HDFS.fits(java) and (java.home / "include" / "jni.h").is_file():
            return java
    raise ConfigurationError("libhdfs needs the headers of Java 11 to 23: install openjdk-17-jdk-headless")


def _library(java: Java) -> Path:
    """The library, compiled once into the cache for each Java."""
    cache = Path(platformdirs.user_cache_dir("nessie-gc")) / f"libhdfs-{_CRATE_VERSION}"
    library = cache / "-".join(java.home.parts[1:]) / "libhdfs.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    with locked(cache / "libhdfs.lock"):
        if not library.is_file():
            with tempfile.TemporaryDirectory(dir=cache, prefix=".build-") as folder:
                made = Path(folder) / library.name
                _compile(_sources(Path(folder)), java, made)
                made.replace(library)
    return library


def _sources(folder: Path) -> Path:
    """The C sources, as ``cargo`` gets the package."""
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(_MANIFEST.format(_CRATE, _CRATE_VERSION), encoding="utf-8")
    _run([_program("cargo"), "vendor", "--quiet", "packages"], folder)
    package = folder / "packages" / _CRATE
    found = json.loads((package / ".cargo-checksum.json").read_text(encoding="utf-8"))["package"]
    if found != _CRATE_SHA256:
        raise ConfigurationError(f"{_CRATE} {_CRATE_VERSION} is another file (SHA-256 {found[:12]}…)")
    return package / _SOURCES


def _compile(sources: Path, java: Java, library: Path) -> None:
    includes = [*(sources / name for name in _INCLUDED), java.home / "include", java.home / "include" / "linux"]
    runtime = java.home / "lib" / "server"
    _run(
        [
            *(_program("gcc"), "-shared", "-fPIC", "-O1", "-w", "-fcommon", "-o", str(library)),
            *(f"-I{folder}" for folder in includes),
            *map(str, [*sorted(sources.glob("*.c")), *sorted(sources.glob("os/posix/*.c"))]),
            *(f"-L{runtime}", "-ljvm", f"-Wl,-rpath,{runtime}", "-lpthread", "-ldl"),
        ],
        library.parent,
    )


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ConfigurationError(f"libhdfs cannot be compiled without {name}: apt-get install cargo gcc libc6-dev")
    return found


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = " ".join(str(getattr(error, "stderr", None) or error).split())[-300:]
        raise ConfigurationError(f"libhdfs cannot be compiled: {command[0]}: {said}") from error
