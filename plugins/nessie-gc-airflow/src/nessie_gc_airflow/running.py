"""What the operator and the sensor share: where a service runs, and how secrets get there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, BaseOperator, Context
from airflow.sdk.log import mask_secret

from nessie_gc_airflow.calls import (
    Call,
    CallError,
    Result,
    Runner,
    check_variables,
    refuse_secrets,
    secrets_in,
)
from nessie_gc_airflow.child import Child
from nessie_gc_airflow.in_process import InProcess


class Running(BaseOperator):
    """An operator that runs services."""

    config: str | None
    parameters: Mapping[str, Any]
    executable: str | Sequence[str] | None
    _runner: Runner | None = None

    def set_up(
        self,
        config: str | None,
        parameters: Mapping[str, Any] | None,
        settings: Mapping[str, Any] | None,
        env: Mapping[str, str] | None,
        executable: str | Sequence[str] | None,
    ) -> None:
        """Takes how to run; see the operator.

        Raises:
            ValueError: a parameter may hold a secret.
        """
        refuse_secrets(parameters or ())
        self.config = config
        self.parameters = parameters or {}
        self.executable = executable
        self._settings, self._env = settings or {}, env or {}

    def call_of(self, service: str, parameters: Mapping[str, Any], context: Context) -> Call:
        """A call, with the settings and the variables as they are now; their secrets are masked in logs from here.

        Raises:
            CallError: a variable is not text.
        """
        settings = self.render_template(self._settings, context)
        env = self.render_template(self._env, context)
        check_variables(env)
        for secret in (*env.values(), *secrets_in(settings)):
            mask_secret(secret)
        return Call(service=service, config=self.config, settings=settings, parameters=parameters, env=env)

    def run_call(self, call: Call) -> Result:
        """Runs a call.

        Raises:
            CallError: it failed.
        """
        self._runner = InProcess() if self.executable is None else Child(self.executable)
        try:
            return self._runner.run(call)
        finally:
            self._runner = None

    def on_kill(self) -> None:
        """Ends the service with the task."""
        if self._runner is not None:
            self._runner.stop()


def failure_of(error: CallError) -> AirflowException:
    """The exception of Airflow for a call that failed, by which the task is retried or not."""
    return AirflowException(str(error)) if error.may_retry else AirflowFailException(str(error))
