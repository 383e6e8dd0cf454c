"""The fixtures with which the tests of a plugin start servers."""

from __future__ import annotations

import pytest

from nessie_gc_core.testing import fixtures

pytest_plugins = ["pytester"]

A_TEST = """
    import pytest
    from nessie_gc_core.errors import ConfigurationError
    from nessie_gc_core.testing import fixtures
    from nessie_gc_core.testing.servers.startable import Startable

    class Missing(Startable):
        def start(self):
            raise ConfigurationError("no GCS for the tests is installed: pip install it")

        def stop(self):
            pass

    class Counted(Startable):
        running = 0

        def start(self):
            Counted.running += 1

        def stop(self):
            Counted.running -= 1

    fixtures.GcsServer, fixtures.S3Server = Missing, Counted

    def test_with_a_server_that_is_missing(gcs_server):
        raise AssertionError("it is not missing")

    @pytest.mark.parametrize("number", [1, 2])
    def test_with_a_server_that_is_there(s3_server, number):
        assert Counted.running == 1
"""


@pytest.fixture
def outcomes(pytester, monkeypatch):
    """Runs a module whose servers are ours, with some variables of the environment."""

    def run(**environment):
        for name in ("CI", "NESSIE_GC_REQUIRE_SERVERS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(fixtures, "GcsServer", fixtures.GcsServer)  # the module sets it; put back afterwards
        monkeypatch.setattr(fixtures, "S3Server", fixtures.S3Server)
        pytester.makepyfile(A_TEST)
        return pytester.runpytest("-p", "nessie_gc_core.testing.fixtures", "-p", "no:randomly", "-rs")

    return run


def test_a_server_that_is_not_installed_skips_with_what_to_install(outcomes):
    result = outcomes()
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*no GCS for the tests is installed: pip install it*"])


@pytest.mark.parametrize("name", ["CI", "NESSIE_GC_REQUIRE_SERVERS"])
def test_a_server_that_is_not_installed_fails_where_servers_are_required(outcomes, name):
    outcomes(**{name: "true"}).assert_outcomes(passed=2, errors=1)
