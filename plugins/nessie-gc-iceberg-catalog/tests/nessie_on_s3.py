"""A Nessie whose tables lie in an S3 server."""

from __future__ import annotations

from nessie_gc_core.testing.servers.s3 import S3Server


def nessie_properties(s3: S3Server) -> dict[str, str]:
    """What Nessie is started with."""
    options = "nessie.catalog.service.s3.default-options"
    return {
        "nessie.catalog.default-warehouse": "wh",
        "nessie.catalog.warehouses.wh.location": f"s3://{s3.bucket}/rest",
        f"{options}.endpoint": s3.endpoint,
        f"{options}.path-style-access": "true",
        f"{options}.region": s3.region,
        f"{options}.access-key": "urn:nessie-secret:quarkus:lake",
        "lake.name": s3.access_key,
        "lake.secret": s3.secret_key,
    }
