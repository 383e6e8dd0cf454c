from __future__ import annotations

import dataclasses
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from nessie_gc_airflow import child
from nessie_gc_airflow.calls import Call, CallError
from nessie_gc_airflow.child import WITHOUT_DRY_RUN, Child, arguments, environment

from nessie_gc_core.plugins import installed


def test_parameters_are_options() -> None:
    parameters = {
        "min_age": timedelta(days=1),
        "max_file_modification": datetime(2026, 1, 1, tzinfo=UTC),
        "allow": ["s3://lake/a,b/", "s3://lake/c/"],
        "max_deletes": 5,
        "by_table": True,
        "exclude": None,
    }
    expected = [
        "gc",
        "--json",
        "--config=/etc/nessie-gc.toml",
        "--dry-run",
        "--min-age=86400.0",
        "--max-file-modification=2026-01-01T00:00:00+00:00",
        "--allow=s3://lake/a,b/",
        "--allow=s3://lake/c/",
        "--max-deletes=5",
        "--by-table",
    ]
    assert expected == arguments(Call(service="gc", config="/etc/nessie-gc.toml", parameters=parameters))


def test_s28_settings_are_variables_which_other_users_of_the_machine_cannot_see() -> None:
    settings = {"uri": "http://nessie/api/v2", "iceberg": {"s3.endpoint": "http://s3", "s3.region": "eu"}, "jdbc": True}
    call = Call(service="gc", settings=settings, env={"NESSIE_GC_TOKEN": "opensesame", "HOME": "/home/gc"})
    expected = {
        "HOME": "/home/gc",
        "NESSIE_GC_DRY_RUN": "true",
        "NESSIE_GC_ICEBERG": "s3.endpoint=http://s3,s3.region=eu",
        "NESSIE_GC_JDBC": "true",
        "NESSIE_GC_TOKEN": "opensesame",
        "NESSIE_GC_URI": "http://nessie/api/v2",
    }
    assert expected == environment(call, {"HOME": "/root", "PYTHONPATH": "/opt/airflow"})
    assert ["gc", "--json", "--dry-run"] == arguments(call)


@pytest.mark.parametrize("parameters", [{}, {"dry_run": None}, {"dry_run": True}, {"dry_run": "true"}])
def test_s21_a_dry_run_is_an_argument_since_a_wrapper_may_drop_variables(parameters: dict[str, object]) -> None:
    assert ["a-service", "--json", "--dry-run"] == arguments(Call(service="a-service", parameters=parameters))


def test_s21_only_an_explicit_word_leaves_that_argument_out() -> None:
    assert ["gc", "--json"] == arguments(Call(service="gc", parameters={"dry_run": "False"}))


def test_a_service_without_a_dry_run_is_not_asked_for_one() -> None:
    assert ["health", "--json"] == arguments(Call(service="health"))
    assert ["health", "--json", "--dry-run"] == arguments(Call(service="health", parameters={"dry_run": True}))


def test_s21_the_services_that_are_not_asked_for_a_dry_run_have_none() -> None:
    without = [
        service
        for service in installed().services.by_name().values()
        if "dry_run" not in (field.name for field in dataclasses.fields(service.Parameters))
    ]
    assert WITHOUT_DRY_RUN == {name for service in without for name in (service.name, *service.aliases)}


def test_s21_a_dry_run_is_asked_for_unless_the_call_says_otherwise() -> None:
    assert "true" == environment(Call(service="gc"), {})["NESSIE_GC_DRY_RUN"]
    assert {} == environment(Call(service="gc", parameters={"dry_run": False}), {})


def test_s21_a_worker_that_may_only_look_keeps_that() -> None:
    deletion = Call(service="gc", parameters={"dry_run": False})
    assert "true" == environment(deletion, {"NESSIE_GC_DRY_RUN": "true"})["NESSIE_GC_DRY_RUN"]
    forced = Call(service="gc", env={"NESSIE_GC_DRY_RUN": "false"})
    assert "true" == environment(forced, {})["NESSIE_GC_DRY_RUN"]


def test_a_parameter_that_is_false_is_a_variable_since_not_every_option_has_a_no() -> None:
    call = Call(service="gc", parameters={"by_table": False})
    assert ["gc", "--json", "--dry-run"] == arguments(call)
    assert "false" == environment(call, {})["NESSIE_GC_BY_TABLE"]


@pytest.mark.parametrize("value", [["a", "b"], ["a,b"], {"a": "b,c=d"}], ids=["list", "comma", "pairs"])
def test_a_setting_that_no_variable_can_hold_is_refused(value: object) -> None:
    with pytest.raises(CallError, match=r"'required_plugins' .* write it in the configuration file"):
        environment(Call(service="gc", settings={"required_plugins": value}), {})


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(CallError, match="'min_age' cannot be of the type object"):
        arguments(Call(service="gc", parameters={"min_age": object()}))


@pytest.mark.parametrize(
    ("printed", "exit_code", "message", "may_retry"),
    [
        ("", 0, "gc: no report, exit code 0; see the log", True),
        ("[1]", 1, "gc: no report, exit code 1; see the log", True),
        ("Traceback", 2, "gc: no report, exit code 2; see the log", False),
        ('{"error": "no such option", "exit_code": 2}', 2, "gc: no such option", False),
        ('{"error": "the server\\\\n  is down", "exit_code": 1}', 1, "gc: the server is down", True),
        ('{"dry_run": false}', 139, "gc: exit code 139; see the log", True),
    ],
)
def test_what_is_no_report_fails_in_one_line(printed: str, exit_code: int, message: str, may_retry: bool) -> None:
    command = [sys.executable, "-c", f"import sys; print('''{printed}'''); sys.exit({exit_code})"]
    with pytest.raises(CallError) as failed:
        Child(command).run(Call(service="gc"))
    assert (message, may_retry) == (str(failed.value), failed.value.may_retry)


def test_a_report_comes_with_the_exit_code() -> None:
    command = [sys.executable, "-c", "import sys; print('{\"unreadable\": 3}'); sys.exit(1)"]
    result = Child(command).run(Call(service="health"))
    assert ({"unreadable": 3}, 1) == (result.report, result.exit_code)


def test_a_child_that_does_not_end_is_killed_with_its_own_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "GRACE_SECONDS", 0.1)
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    inner = f"{stubborn}; import os, pathlib; p = pathlib.Path(r'{tmp_path}'); (p / 'new').write_text(str(os.getpid()))"
    inner += "; (p / 'new').rename(p / 'pid'); signal.pause()"
    outer = f"{stubborn}; import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    runner = Child([sys.executable, "-c", outer])

    def stop() -> None:
        while not (tmp_path / "pid").exists():
            threading.Event().wait(0.05)
        runner.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(CallError, match="gc: stopped, because Airflow ended the task"):
        runner.run(Call(service="gc"))
    thread.join()
    while _runs(int((tmp_path / "pid").read_text())):  # a signal takes its time
        threading.Event().wait(0.05)


def _runs(process: int) -> bool:
    """Whether a process runs; one that was killed may wait for whoever adopts it."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_child_ends_where_the_call_is_interrupted(tmp_path: Path) -> None:
    runner = Child(
        [
            sys.executable,
            "-c",
            "import os, signal, sys; print(os.getpid(), file=sys.stderr, flush=True); signal.pause()",
        ]
    )
    seen: list[int] = []

    class InterruptError(Exception):
        pass

    def log(_: str, line: str) -> None:
        seen.append(int(line))
        raise InterruptError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child.log, "info", log)
        with pytest.raises(InterruptError):
            runner.run(Call(service="gc"))
    assert not _runs(seen[0])
