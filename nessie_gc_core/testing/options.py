"""What the options of every connector have to do (:class:`nessie_gc_core.model.options.ConnectorOptions`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, cast

import pytest

from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.demands import demands

_NO_VALUE: Any = [90210]
"""Fits no type that an option can have."""


class OptionsTests:
    """Part of the class of every contract."""

    opener: ClassVar[str]
    """Name of the contract's fixture that opens connectors."""

    @pytest.fixture
    def connector_class(self, request: pytest.FixtureRequest) -> type[Connector]:
        with request.getfixturevalue(self.opener)() as opened:
            return type(opened)

    @demands("Every option has a help text, which the reference shows: write option(default, help='...').")
    def test_every_option_has_help(self, connector_class: type[Connector]) -> None:
        fields = dataclasses.fields(connector_class.Options)
        without = [field.name for field in fields if not str(field.metadata.get("help", "")).strip()]
        assert without == []

    @demands(
        "S27: values are checked against the type of their option. Use one of the types that ConnectorOptions lists."
    )
    def test_every_option_has_a_type_that_values_are_checked_against(self, connector_class: type[Connector]) -> None:
        connector_class.Options.check_types()

    @demands(
        "S27 and S28: a wrong value is refused with a ConfigurationError that names the option and shows no secret. "
        "Declare options with @options, option() and secret()."
    )
    def test_every_option_refuses_a_value_of_a_wrong_type_and_names_itself(
        self, connector_class: type[Connector]
    ) -> None:
        secrets = connector_class.Options.secret_names()
        for field in dataclasses.fields(connector_class.Options):
            with pytest.raises(ConfigurationError) as refused:
                connector_class.from_options({field.name: _NO_VALUE})
            assert repr(field.name) in str(refused.value)
            if field.name in secrets:
                assert "90210" not in str(refused.value)

    @demands("S27: an unknown option is refused, never ignored. Let from_options pass all values to the options.")
    def test_an_unknown_option_is_refused_by_name(self, connector_class: type[Connector]) -> None:
        with pytest.raises(ConfigurationError, match="no_such_option"):
            connector_class.from_options(cast("dict[str, str]", {"no_such_option": "x"}))
