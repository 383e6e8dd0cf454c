"""An Airflow DAG: marks at night, sweeps when the mark is done, and fails if anything failed or stayed unknown."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG
from nessie_gc_airflow import NessieGcOperator

# Not in default_args, which Airflow stores as they are written.
ENV = {"NESSIE_GC_REPOSITORY_OAUTH2_CLIENT_SECRET": "{{ conn.nessie.password }}"}

with DAG(
    "nessie_gc",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={
        "retries": 2,
        "retry_delay": timedelta(minutes=10),
        "config": "/etc/nessie-gc.toml",
    },
):
    mark = NessieGcOperator(task_id="mark", service="mark", env=ENV, parameters={"default_cutoff": "P30D"})
    # A retry resumes the sweep.
    sweep = NessieGcOperator(
        task_id="sweep",
        service="sweep",
        env=ENV,
        parameters={"live_set_id": "{{ ti.xcom_pull('mark')['live_set_id'] }}", "dry_run": False},
    )
    mark >> sweep
