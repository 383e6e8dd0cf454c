"""Options of connectors, from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import secret_mapping


@options
class StoreOptions(ConnectorOptions):
    size: int = option(1, help="a number")
    properties: Mapping[str, str] = secret_mapping(help="pairs")


_words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9_.\-]{0,8}", fullmatch=True), _words))
def test_pairs_come_back_from_their_text(pairs: dict[str, str]) -> None:
    text = ",".join(f"{key}={value}" for key, value in pairs.items())
    assert pairs == StoreOptions.from_mapping({"properties": text}).properties


def test_a_comma_that_no_key_follows_belongs_to_the_value() -> None:
    found = StoreOptions.from_mapping({"properties": "hosts=a,b,port=1,key=x=y"})
    assert {"hosts": "a,b", "port": "1", "key": "x=y"} == found.properties


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(ConfigurationError, match="option 'size' cannot be 'ten'"):
        StoreOptions.from_mapping({"size": "ten"})


def test_a_wrong_value_of_a_secret_option_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as raised:
        StoreOptions.from_mapping({"properties": "hunter2"})
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_secrets_are_not_in_the_repr() -> None:
    assert "hunter2" not in repr(StoreOptions.from_mapping({"properties": "password=hunter2"}))


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Kind(Enum):
    NEW = "new"
    OLD = "old"


@options
class EveryType(ConnectorOptions):
    count: int = option(1, help="a number")
    ratio: float = option(0.0, help="a number")
    fast: bool = option(False, help="a switch")
    wait: timedelta = option(timedelta(0), help="a time")
    since: datetime | None = option(None, help="an instant")
    level: Level = option(Level.LOW, help="a choice")
    kind: Kind | None = option(None, help="a choice or nothing")
    names: Sequence[str] = option((), help="texts")
    retries: int = option(1, help="a number", minimum=0, maximum=9)
    share: float | None = option(None, help="a number", maximum=0.5)
    pause: timedelta = option(timedelta(1), help="a time", minimum=timedelta(seconds=1), maximum=timedelta(days=2))
    begin: datetime | None = option(None, help="an instant", minimum=datetime(2020, 1, 1, tzinfo=UTC))


_any_mapping: Callable[[Mapping[str, object]], EveryType] = EveryType.from_mapping  # type: ignore[assignment]  # any


def read(name: str, value: object) -> object:
    return getattr(_any_mapping({name: value}), name)


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("count", " 12 ", 12),
        ("count", -(2**63), -(2**63)),
        ("fast", " On ", True),
        ("fast", "off", False),
        ("wait", "P30D", timedelta(days=30)),
        ("wait", "p1dt12h", timedelta(days=1.5)),
        ("wait", " -PT1,5S ", timedelta(seconds=-1.5)),
        ("wait", " 90 ", timedelta(seconds=90)),
        ("wait", "-1", timedelta(seconds=-1)),
        ("since", "2026-01-31t09:00:00+09:00", datetime(2026, 1, 31, tzinfo=UTC)),
        ("since", datetime(2026, 1, 31, 9, tzinfo=timezone(timedelta(hours=9))), datetime(2026, 1, 31, tzinfo=UTC)),
        ("level", "2", Level.HIGH),
        ("level", 2, Level.HIGH),
        ("kind", "old", Kind.OLD),
        ("kind", "OLD", Kind.OLD),
        ("kind", None, None),
        ("names", ("a, b",), ("a, b",)),
        ("retries", 0, 0),
        ("retries", "9", 9),
        ("share", None, None),
        ("pause", "P2D", timedelta(days=2)),
        ("pause", 1, timedelta(seconds=1)),
        ("begin", "2020-01-01T00:00:00Z", datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_become_what_their_type_says(name: str, value: object, typed: object) -> None:
    assert (typed, type(typed)) == (read(name, value), type(read(name, value)))


def test_an_instant_is_in_utc_whatever_its_offset_was() -> None:
    found = _any_mapping({"since": "2026-01-31T09:00:00+09:00"}).since
    assert found is not None
    assert UTC is found.tzinfo


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", 2**63, "a whole number"),
        ("count", "9" * 5000, "a whole number"),
        ("count", 1.0, "a whole number"),
        ("ratio", "1e999", "a number"),
        ("ratio", 10**400, "a number"),
        ("wait", "P1M", "a number of seconds, or an ISO duration such as P30D or PT36H"),
        ("wait", "P1Y", "a number of seconds, or an ISO duration"),
        ("wait", "1 day, 3:00:00", "a number of seconds, or an ISO duration"),
        ("wait", "03:00", "a number of seconds, or an ISO duration"),
        ("wait", f"P{'9' * 5000}D", "a number of seconds, or an ISO duration"),
        ("since", "2026-01-31T09:00:00", "an instant with an offset, such as 2026-01-31T00:00:00Z"),
        ("since", "2026-01-31", "an instant with an offset"),
        ("since", "1700000000", "an instant with an offset"),
        ("since", 1700000000, "an instant with an offset"),
        ("since", datetime(2026, 1, 31), "an instant with an offset"),
        ("level", True, "one of 1, 2"),
        ("level", "3", "one of 1, 2"),
        ("level", [1], "one of 1, 2"),
        ("kind", Level.LOW, "one of new, old"),
        ("kind", "newer", "one of new, old"),
        ("names", {"a"}, "a list of strings"),
        ("retries", -1, "a whole number, at least 0, at most 9"),
        ("retries", "10", "a whole number, at least 0, at most 9"),
        ("share", "0.51", "a number, at most 0.5"),
        ("share", float("nan"), "a number, at most 0.5"),
        ("pause", 0.5, "at least PT1S, at most P2D"),
        ("pause", "P2DT0.1S", "at least PT1S, at most P2D"),
        ("begin", "2019-12-31T23:59:59.999999Z", "at least 2020-01-01T00:00:00Z"),
    ],
    ids=lambda value: repr(value)[:25],
)
def test_a_value_that_does_not_fit_is_one_line_that_says_what_is_expected(
    name: str, value: object, expected: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(name, value)
    said, _, wanted = str(raised.value).partition(": expected ")
    assert f"option {name!r} cannot be {value!r}" == said
    assert expected in wanted
    assert "\n" not in str(raised.value)


def test_a_number_of_more_digits_than_can_be_written_is_refused_in_a_line() -> None:
    for name in ("count", "ratio", "wait", "names"):
        with pytest.raises(ConfigurationError, match=f"option '{name}' cannot be the given value: "):
            read(name, 10**5000 if name != "names" else [10**5000])


@pytest.mark.parametrize("value", ["hunter2", {"a": 902}, ["hunter2"], 902])
def test_an_error_about_a_secret_leads_to_its_value_on_no_way(value: object) -> None:
    with pytest.raises(ConfigurationError) as raised:
        StoreOptions.from_mapping({"properties": value})  # type: ignore[dict-item]  # the point of the test
    assert "option 'properties' cannot be the given value: expected pairs of the form KEY=VALUE" == str(raised.value)
    assert (None, None) == (raised.value.__cause__, raised.value.__context__)


def test_what_a_command_line_is_made_from_is_in_the_field() -> None:
    @options
    class Collecting(ConnectorOptions):
        cutoff: str = option("NONE", help="a policy", flag="-c", metavar="POLICY", section="Policies")
        password: str | None = secret(help="a secret", flag="-p")
        properties: Mapping[str, str] = secret_mapping(help="secrets", flag="-I", section="Storage")

    found = [
        (field.metadata["flag"], field.metadata["metavar"], field.metadata["section"]) for field in fields(Collecting)
    ]
    assert [("-c", "POLICY", "Policies"), ("-p", None, ""), ("-I", None, "Storage")] == found


def _declared(hint: object, **bounds: object) -> type[ConnectorOptions]:
    namespace = {"__annotations__": {"wrong": hint}, "wrong": option(None, help="wrong", **bounds)}  # type: ignore[arg-type]
    return options(type("Declared", (ConnectorOptions,), namespace))


@pytest.mark.parametrize(
    "hint", [object, bytes, list[int], dict[str, int], int | str, int | str | None, date, Sequence]
)
def test_a_type_that_no_option_can_have_is_found_in_the_declaration(hint: object) -> None:
    with pytest.raises(ConfigurationError, match="option 'wrong': no option can have the type"):
        _declared(hint).check_types()


@pytest.mark.parametrize(
    ("hint", "minimum"), [(str, 1), (bool, 1), (int, 0.5), (int, "many"), (timedelta, float("nan")), (datetime, 3)]
)
def test_a_bound_that_does_not_fit_the_type_is_found_in_the_declaration(hint: object, minimum: object) -> None:
    with pytest.raises(ConfigurationError, match=r"option 'wrong': .* is not a bound for the type"):
        _declared(hint, minimum=minimum).check_types()


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text()), st.none(), st.binary()))
def test_whatever_is_given_ends_in_a_value_of_the_type_or_in_an_error(value: object) -> None:
    for field in fields(EveryType):
        try:
            found = read(field.name, value)
        except ConfigurationError as error:
            assert repr(field.name) in str(error)
        else:
            known = {"wait": timedelta, "pause": timedelta, "since": datetime, "begin": datetime, "names": tuple}
            kind = {**known, "level": Level, "kind": Kind, "fast": bool, "ratio": float, "share": float}
            assert found is None or type(found) is kind.get(field.name, int)
