"""The names of FileIO properties: those that this plugin reads, and PyIceberg's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nessie_gc_core.model.hosts import ARGUMENTS, TRUSTED_HOSTS
from nessie_gc_core.model.known_names import KnownNames
from nessie_gc_core.model.schemes import FILE_IO

_OWN = {
    "s3": "access-key-id secret-access-key session-token session-token-expires-at-ms profile-name anonymous region "
    "endpoint path-style-access force-virtual-addressing proxy-uri connect-timeout request-timeout retry.num-retries "
    "list-in-key-order max-requests-in-flight client signer",
    "client": "region access-key-id secret-access-key session-token session-token-expires-at-ms profile-name",
    "gcs": "project-id oauth2.token oauth2.token-expires-at oauth2.token-expires-at-ms service.host requester-pays "
    "client",
    "adls": "account-name account-key account-host connection-string sas-token client-id client-secret tenant-id "
    "credential token anon auth.shared-key.account.name auth.shared-key.account.key client",
    "hdfs": "host port user kerberos_ticket conf-dir",
}
_OF_PYICEBERG = re.compile(r"(?:s3|client|gcs|adls|hdfs|hf)\.[a-z0-9._-]+")


def _names_of_pyiceberg() -> Iterator[str]:
    """The constants of the PyIceberg that is installed."""
    from pyiceberg import io

    for constant, value in vars(io).items():
        if constant.isupper() and isinstance(value, str) and _OF_PYICEBERG.fullmatch(value):
            yield value


FILE_IO_NAMES = KnownNames(
    names=frozenset(f"{family}.{name}" for family, names in _OWN.items() for name in names.split())
    | {FILE_IO, TRUSTED_HOSTS, "nessie-gc.storage-credentials"},
    beginnings=(ARGUMENTS, "adls.sas-token.", "adls.connection-string.", "adls.sas-token-expires-at-ms."),
    more=_names_of_pyiceberg,
    classes={FILE_IO: "pyiceberg."},
)
