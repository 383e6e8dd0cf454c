from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.java import (
    Java,
    JavaRole,
    choose_java,
    find_java,
    inspect_java,
    installed_javas,
    parse_version,
)


def java(version: int, *, has_vector_module: bool = True) -> Java:
    return Java(home=Path(f"/java/{version}"), version=version, has_vector_module=has_vector_module)


def install(home: Path, *, release: str | None = None, says: str = "") -> Path:
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    if release is not None:
        (home / "release").write_text(release)
    return home


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.8.0_402", 8), ("17.0.15", 17), ("21", 21), ("21-ea", 21), ("25.0.3+9", 25), ("", None), ("Temurin", None)],
)
def test_versions_are_parsed_to_their_feature(text: str, expected: int | None) -> None:
    assert expected == parse_version(text)


@pytest.mark.parametrize(
    ("role", "version", "expected"),
    [
        (JavaRole.SPARK, 11, False),
        (JavaRole.SPARK, 17, True),
        (JavaRole.SPARK, 21, True),
        (JavaRole.SPARK, 25, False),
        (JavaRole.NESSIE, 17, False),
        (JavaRole.NESSIE, 21, True),
        (JavaRole.NESSIE, 25, True),
    ],
)
def test_each_role_takes_its_versions(role: JavaRole, version: int, expected: bool) -> None:
    assert expected == role.fits(java(version))


def test_spark_takes_no_java_without_the_vector_module() -> None:
    assert not JavaRole.SPARK.fits(java(21, has_vector_module=False))
    assert JavaRole.NESSIE.fits(java(21, has_vector_module=False))


def test_the_first_that_fits_is_chosen() -> None:
    assert java(21) == choose_java(JavaRole.NESSIE, [java(17), java(21), java(25)])


def test_where_none_fits_one_line_says_what_was_found_and_what_to_install() -> None:
    with pytest.raises(ConfigurationError) as raised:
        choose_java(JavaRole.SPARK, [java(11), java(25)])

    expected = (
        "Spark needs Java 17 or 21: install openjdk-17-jre-headless (or another JDK 17 or 21) "
        "and set JAVA_HOME to it; found: 11 (/java/11), 25 (/java/25)"
    )
    assert expected == str(raised.value)


def test_a_release_file_tells_version_and_modules(tmp_path: Path) -> None:
    home = install(tmp_path, release='JAVA_VERSION="21.0.8"\nMODULES="java.base java.sql"\n')

    assert Java(home=home, version=21, has_vector_module=False) == inspect_java(home)


def test_without_a_release_file_the_launcher_is_asked(tmp_path: Path) -> None:
    home = install(tmp_path, says='openjdk version "17.0.15" 2025-04-15')

    assert Java(home=home, version=17) == inspect_java(home)


def test_a_folder_without_a_working_java_is_none(tmp_path: Path) -> None:
    assert inspect_java(tmp_path) is None
    assert inspect_java(install(tmp_path / "silent")) is None


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install(tmp_path, release='JAVA_VERSION="21.0.8"\n')
    monkeypatch.setenv("JAVA_HOME", str(home))

    assert Java(home=home, version=21) == next(installed_javas())
    assert Java(home=home, version=21) == find_java(JavaRole.NESSIE)
