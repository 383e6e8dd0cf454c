"""Headers of a request to S3 that is signed (Signature Version 4), for requests that a fault proxy makes anew."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


def signed_headers(method: str, path: str, body: bytes, properties: Mapping[str, str]) -> Mapping[str, str]:
    """The headers of a request with a body.

    Args:
        method: The method.
        path: The path as it is sent, with at most one parameter, which has no value.
        body: The body.
        properties: Iceberg FileIO properties: endpoint, region, access key and secret.
    """
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    url = urlsplit(path)
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "host": urlsplit(properties["s3.endpoint"]).netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": now,
    }
    names = ";".join(headers)
    query = f"{url.query.partition('=')[0]}=" if url.query else ""
    lines = [method, url.path, query, *(f"{name}:{value}" for name, value in headers.items()), "", names, digest]
    scope = f"{now[:8]}/{properties['s3.region']}/s3/aws4_request"
    to_sign = "\n".join([_ALGORITHM, now, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()])
    key = f"AWS4{properties['s3.secret-access-key']}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    credential = f"{_ALGORITHM} Credential={properties['s3.access-key-id']}/{scope}"
    return {**headers, "Authorization": f"{credential}, SignedHeaders={names}, Signature={key.hex()}"}
