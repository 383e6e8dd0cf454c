"""Who is told of runs: a webhook, metrics for Prometheus, and OpenLineage."""
