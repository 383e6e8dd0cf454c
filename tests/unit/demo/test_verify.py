from __future__ import annotations

from nessie_gc_core.demo.verify import Reading, State, differences

STATE = State(reference="main", commit="0123456789ab", key="shop.orders", metadata_location="file:/lake/m.json")
THREE_ROWS = Reading(rows=3, checksum="42")


def test_equal_readings_differ_in_nothing() -> None:
    assert [] == list(differences({STATE: THREE_ROWS}, {STATE: THREE_ROWS}))


def test_other_rows_with_the_same_count_are_a_difference() -> None:
    after = {STATE: Reading(rows=3, checksum="43")}
    assert ["shop.orders at main, commit 01234567: 3 rows before, 3 rows after, or other rows"] == list(
        differences({STATE: THREE_ROWS}, after)
    )


def test_a_state_that_cannot_be_read_any_more_is_a_difference() -> None:
    after = {STATE: Reading(rows=0, checksum="", error="no such file")}
    assert ["shop.orders at main, commit 01234567: cannot be read any more: no such file"] == list(
        differences({STATE: THREE_ROWS}, after)
    )


def test_a_state_that_could_never_be_read_is_no_proof() -> None:
    broken = Reading(rows=0, checksum="", error="no such file")
    assert 1 == len(list(differences({STATE: broken}, {STATE: broken})))


def test_a_state_that_is_seen_only_once_is_a_difference() -> None:
    assert ["shop.orders at main, commit 01234567: seen before the collection only"] == list(
        differences({STATE: THREE_ROWS}, {})
    )


def test_spark_names_a_state_by_reference_and_commit() -> None:
    assert "nessie.shop.`orders@main#0123456789ab`" == STATE.sql_name
