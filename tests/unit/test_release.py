"""What keeps archives from being released."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from release import ROOT, problems

PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """The archives of version 1.2.3."""
    add(tmp_path, "nessie-gc-core", "1.2.3")
    for plugin in PLUGINS:
        add(tmp_path, plugin, "1.2.3", "Requires-Dist: nessie-gc-core~=1.2.3\n")
    return tmp_path


def add(folder: Path, name: str, version: str, more: str = "", license_file: str = "License-File: LICENSE\n") -> None:
    stem = f"{name.replace('-', '_')}-{version}"
    (folder / f"{stem}.tar.gz").write_bytes(b"")
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{stem}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n{license_file}{more}\n")


def test_archives_that_agree_are_released(dist: Path) -> None:
    assert list(problems(dist)) == []


def test_two_versions_are_no_release(dist: Path) -> None:
    add(dist, "nessie-gc-jdbc", "1.2.4", "Requires-Dist: nessie-gc-core~=1.2.4\n")
    assert list(problems(dist)) == [f"{dist} has the versions ['1.2.3', '1.2.4'], not one"]


def test_a_plugin_that_takes_an_older_core_is_named(dist: Path) -> None:
    add(dist, "nessie-gc-jdbc", "1.2.3", "Requires-Dist: nessie-gc-core~=1.1\n")
    assert list(problems(dist)) == ["nessie_gc_jdbc-1.2.3-py3-none-any.whl does not require nessie-gc-core~=1.2.3"]


def test_the_core_may_be_what_an_extra_brings(dist: Path) -> None:
    add(dist, "nessie-gc-airflow", "1.2.3", 'Requires-Dist: nessie-gc-core~=1.2.3; extra == "core"\n')
    assert list(problems(dist)) == []


def test_a_wheel_without_its_license_is_named(dist: Path) -> None:
    add(dist, "nessie-gc-jdbc", "1.2.3", "Requires-Dist: nessie-gc-core~=1.2.3\n", license_file="")
    assert list(problems(dist)) == ["nessie_gc_jdbc-1.2.3-py3-none-any.whl has no LICENSE"]


def test_a_wheel_without_its_source_is_named(dist: Path) -> None:
    (dist / "nessie_gc_core-1.2.3.tar.gz").unlink()
    assert list(problems(dist)) == [f"{dist} has no nessie_gc_core-1.2.3.tar.gz"]


def test_a_tag_is_that_of_the_version_and_has_its_section_of_the_changelog(dist: Path) -> None:
    assert list(problems(dist, "v1.2.4")) == [
        "the tag is v1.2.4, the version is 1.2.3",
        "CHANGELOG.md has no section 1.2.3: run towncrier build --version 1.2.3",
    ]
