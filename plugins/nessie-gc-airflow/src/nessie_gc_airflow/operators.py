"""The operator: a task that runs one service of Nessie GC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException, BaseOperator, Context

from nessie_gc_airflow.calls import Call, CallError, Result
from nessie_gc_airflow.reports import what_failed
from nessie_gc_airflow.running import Running, failure_of

SWEEPS = frozenset({"sweep", "expire"})
"""The names of the service that resumes, and that cannot run again on a live set that it is through with."""


class NessieGcOperator(Running, BaseOperator):
    """Runs a service of Nessie GC, and returns its report.

    A service that can make a dry run makes one, unless ``parameters`` contain ``dry_run=False``.

    Example::

        NessieGcOperator(
            task_id="collect",
            service="gc",
            config="/etc/nessie-gc.toml",
            env={"NESSIE_GC_TOKEN": "{{ conn.nessie.password }}"},
            parameters={"default_cutoff": "P30D", "dry_run": False},
        )
    """

    template_fields: Sequence[str] = ("service", "config", "parameters", "executable")
    template_fields_renderers: ClassVar[dict[str, str]] = {"parameters": "json"}
    ui_color = "#d5e8d4"

    def __init__(
        self,
        *,
        service: str,
        config: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        executable: str | Sequence[str] | None = None,
        fail_on_incomplete: bool = True,
        **arguments: Any,
    ) -> None:
        """Takes the service, and how to run it.

        Args:
            service: the name of an installed service, such as ``gc``, ``mark``, ``sweep`` or ``expire-snapshots``.
            config: a configuration file (TOML) on the worker.
            parameters: parameters of the service, by the names that they have in Python; no secrets.
            settings: settings of the collector, such as ``uri`` or ``jdbc_url``. They are rendered only while the task
                runs, and neither stored nor shown. Airflow stores ``default_args`` and the arguments of ``partial`` as
                they are written, so use nothing but templates for secrets there.
            env: environment variables, such as ``NESSIE_GC_TOKEN``, as text. As for ``settings``; in addition, all
                values are masked in logs.
            executable: ``nessie-gc`` of another environment, or a list of its words (default: the collector runs in
                the process of the task).
            fail_on_incomplete: whether the task fails if the service ends with exit code 1, because something could
                not be deleted or read, or stayed unknown. Other errors always fail it.
            arguments: those of every operator.

        Raises:
            ValueError: a parameter may hold a secret.
        """
        super().__init__(**arguments)
        self.service = service
        self.set_up(config, parameters, settings, env, executable)
        self.fail_on_incomplete = fail_on_incomplete

    def execute(self, context: Context) -> Mapping[str, Any]:
        """Runs the service.

        Raises:
            AirflowException: it failed, or something was not done; the message is one line.
            AirflowFailException: the same, and a retry would fail as well.
        """
        try:
            call = self._call(context)
            result = self.run_call(call)
        except CallError as error:
            raise failure_of(error) from None
        if result.exit_code and self.fail_on_incomplete:
            self._push(result, context)
            may_retry = call.service not in SWEEPS  # only a sweep that did not end can be resumed
            raise failure_of(CallError(what_failed(call.service, result.report), may_retry=may_retry))
        if call.deletes and result.report.get("dry_run") is True:
            self._push(result, context)
            raise AirflowFailException("the settings contain `dry_run`, so nothing was deleted; remove it to delete")
        return result.report

    def _call(self, context: Context) -> Call:
        """The call; a retry of a sweep resumes it."""
        call = self.call_of(self.service, self.parameters, context)
        again = call.service in SWEEPS and context["ti"].try_number > 1
        if not again or call.parameters.get("resume") is not None:
            return call
        return self.call_of(self.service, {**self.parameters, "resume": True}, context)

    def _push(self, result: Result, context: Context) -> None:
        """Keeps the report of a task that fails, which returns nothing."""
        if self.do_xcom_push:
            context["ti"].xcom_push(key="return_value", value=result.report)
