"""Fixtures that both the tests of file listers and those of file deleters use."""

# ruff: noqa: D102 - described at the contracts
from __future__ import annotations

from collections.abc import Sequence

import pytest

from nessie_gc_core.testing.demands import not_defined
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.options import OptionsTests
from nessie_gc_core.testing.paths import ODD_PATHS, PutDirectory, PutFile, PutLink


class FileStoreFixtures(OptionsTests):
    """They are described at the contracts, ``FileListerContract`` and ``FileDeleterContract``."""

    @pytest.fixture
    def location(self) -> str:
        raise not_defined("location")

    @pytest.fixture
    def put_file(self) -> PutFile:
        raise not_defined("put_file")

    @pytest.fixture
    def odd_paths(self) -> Sequence[str]:
        return ODD_PATHS

    @pytest.fixture
    def put_directory(self) -> PutDirectory | NotPossible:
        raise not_defined("put_directory", situation=True)

    @pytest.fixture
    def put_link(self) -> PutLink | NotPossible:
        raise not_defined("put_link", situation=True)
