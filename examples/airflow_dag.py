"""An Airflow DAG: marks at night, sweeps when the mark is done, and fails if anything failed or stayed unknown."""

from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

ID = "/var/lib/nessie-gc/live-set.txt"

with DAG(
    "nessie_gc",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
):
    mark = BashOperator(
        task_id="mark",
        bash_command=f"nessie-gc mark --config /etc/nessie-gc.toml --write-live-set-id-to {ID}",
        env={"NESSIE_GC_REPOSITORY_OAUTH2_CLIENT_SECRET": "{{ conn.nessie.password }}"},
        append_env=True,
    )
    # A retry resumes the sweep.
    sweep = BashOperator(
        task_id="sweep",
        bash_command=f"nessie-gc sweep --config /etc/nessie-gc.toml -L {ID}"
        " {{ '--resume' if ti.try_number > 1 else '' }}",
        env={"NESSIE_GC_REPOSITORY_OAUTH2_CLIENT_SECRET": "{{ conn.nessie.password }}"},
        append_env=True,
    )
    mark >> sweep
