"""Who is told of runs: a webhook, and metrics for Prometheus."""
