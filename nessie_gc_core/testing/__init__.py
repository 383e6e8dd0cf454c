"""The conformance kit: test classes that a plugin's tests inherit, one for each contract, and real servers.

A plugin's test module subclasses the class of its contract and gives it the fixtures that the class asks for::

    from nessie_gc_core.testing import NotPossible
    from nessie_gc_core.testing.file_lister import FileListerContract


    class TestTapeLister(FileListerContract):
        @pytest.fixture
        def open_lister(self, robot):
            return lambda: TapeLister.from_options({"robot": robot.address})

        @pytest.fixture
        def location(self, robot):
            return robot.empty_tape()

        @pytest.fixture
        def put_file(self, robot):
            return robot.put

        @pytest.fixture
        def put_directory(self, robot):
            return robot.put_folder

        @pytest.fixture
        def unlistable(self, robot):
            return robot.tear

        @pytest.fixture
        def put_link(self):
            return NotPossible("this robot writes no links")

Every test that fails begins with the rule that the connector breaks and what to do. A test of an optional ability that
the connector lacks is skipped by the ability's name, and a test of a situation that cannot exist for it
(:class:`NotPossible`) by the name of its fixture and the reason.

| module | class | contract |
|---|---|---|
| ``testing.repository`` | ``RepositoryConnectorContract`` | ``RepositoryConnector`` |
| ``testing.content_to_files`` | ``ContentToFilesContract`` | ``ContentToFiles`` |
| ``testing.file_lister`` | ``FileListerContract`` | ``FileLister`` |
| ``testing.file_deleter`` | ``FileDeleterContract`` | ``FileDeleter`` |
| ``testing.live_set_store`` | ``LiveSetStoreContract`` | ``LiveSetStore`` |
| ``testing.table_catalog`` | ``TableCatalogContract`` | ``TableCatalog`` |
| ``testing.schedule_store`` | ``ScheduleStoreContract`` | ``ScheduleStore`` |
| ``testing.visited_deduplicator`` | ``VisitedDeduplicatorContract`` | ``VisitedDeduplicator`` |

``testing.fixtures`` starts real servers, once for all tests. Below a ``conftest.py`` with
``pytest_plugins = ["nessie_gc_core.testing.fixtures"]``, every test has the fixtures ``s3_server``, ``moto_server``,
``gcs_server``, ``azure_server``, ``hdfs_server``, ``postgres_server``, ``mariadb_server`` and ``nessie_server``. What
is not installed skips its tests with the reason, and fails them in CI.

What a contract leaves open (order, duplicates, whether missing files are detected) is not tested. These modules
need pytest and hypothesis, which ``pip install 'nessie-gc-core[testing]'`` brings; nothing but tests imports them.
"""

import sys

from nessie_gc_core.testing.not_possible import NotPossible

__all__ = ["NotPossible"]

if (pytest := sys.modules.get("pytest")) is not None:  # failed assertions of the kit show their values
    for _module in (
        "content_to_files",
        "credentials",
        "file_deleter",
        "file_lister",
        "file_lister_situations",
        "live_set_lifecycle",
        "live_set_machine",
        "live_set_registers",
        "live_set_rows",
        "live_set_situations",
        "live_set_store",
        "options",
        "repository",
        "repository_situations",
        "schedule_jobs",
        "schedule_runs",
        "schedule_store",
        "table_catalog",
        "visited_deduplicator",
    ):
        pytest.register_assert_rewrite(f"{__name__}.{_module}")
