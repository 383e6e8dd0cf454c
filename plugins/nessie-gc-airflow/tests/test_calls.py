from __future__ import annotations

import pytest
from nessie_gc_airflow.calls import Call, CallError, refuse_secrets, secrets_in


@pytest.mark.parametrize("value", [False, "False", "false", " FALSE "])
def test_s21_only_a_word_that_is_false_deletes(value: object) -> None:
    call = Call(service="gc", parameters={"dry_run": value})
    assert (True, {"dry_run": False}) == (call.deletes, call.checked)


@pytest.mark.parametrize("value", [True, "True", "true"])
def test_s21_a_dry_run_deletes_nothing(value: object) -> None:
    call = Call(service="gc", parameters={"dry_run": value})
    assert (False, {"dry_run": True}) == (call.deletes, call.checked)


@pytest.mark.parametrize("parameters", [{}, {"dry_run": None}], ids=["absent", "none"])
def test_s21_without_a_word_nothing_is_deleted(parameters: dict[str, object]) -> None:
    call = Call(service="gc", parameters=parameters)
    assert (False, {}) == (call.deletes, call.checked)


@pytest.mark.parametrize("value", ["", "no", "0", 0, [], "None"])
def test_s21_what_is_neither_true_nor_false_is_refused(value: object) -> None:
    with pytest.raises(CallError, match="`dry_run` must be True or False"):
        _ = Call(service="gc", parameters={"dry_run": value}).checked


@pytest.mark.parametrize("name", ["", "--help", "gc --config x", "GC"])
def test_a_service_has_a_name(name: str) -> None:
    with pytest.raises(CallError, match="not the name of a service"):
        _ = Call(service=name).checked


def test_s28_settings_that_may_be_secrets_are_masked_in_logs() -> None:
    secret = [
        "postgresql://user:sesame@host/db", "AccountName=a;AccountKey=b", "http://user:sesame@proxy", "open", "sesame",
        "a=b", "0123456789abcdef0123",
    ]  # fmt: skip
    plain = {
        "warehouse": "s3://lake/warehouse", "account": "abfss://lake@account.dfs.core.windows.net/w", "region": "eu-1",
        "endpoint": "http://minio:9000",
    }  # fmt: skip
    properties = {
        "uri": secret[0], "adls.connection-string": secret[1], "s3.proxy-uri": secret[2], "pwd": secret[3],
        "adls.sas-token.lake": secret[4], **plain,
    }  # fmt: skip
    settings = {"engine": "local", "repository": {"properties": properties}, "conf": [secret[5]], "user": secret[6]}
    assert secret == [*secrets_in(settings)]


def test_a_failure_is_one_line() -> None:
    assert "a b c" == str(CallError("a\n  b\nc"))


def test_s28_a_call_does_not_show_settings_and_variables() -> None:
    call = Call(service="gc", settings={"token": "opensesame"}, env={"NESSIE_GC_TOKEN": "opensesame"})
    assert "opensesame" not in repr(call)


@pytest.mark.parametrize("name", ["java_password", "nessie_jdbc_url", "nessie_jdbc_properties", "access_key"])
def test_s28_parameters_that_may_hold_secrets_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' may hold a secret.*`settings`"):
        refuse_secrets(["default_cutoff", name])
