"""Which stores are reached through fsspec and with which arguments, by the properties alone: nothing is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import ARGUMENTS
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES

SERVER_SCHEMES = frozenset({"sftp", "ssh", "hdfs", "arrow_hdfs", "webhdfs"})
"""Schemes of file systems whose authority is a server; of all others it is a bucket."""
FALLBACK_SCHEMES = SERVER_SCHEMES | {"oss", "oci", "ocilake", "tos", "tosfs"}
"""What fsspec knows and a lake can be in.

A fixed list, because asking fsspec costs a tenth of a second, and because a name that comes back in another case, or
twice, costs files. So these are out: file systems that fold case or have several files of one name (smb, gdrive,
dropbox, box), versions and mounts of other stores (git, github, lakefs, hf, dvc, wandb, dbfs), archives, caches and
other wrappers, what lives in one process or on one disk (memory, local), what has no listing (http), and FTP, whose
listings are text for people.
"""
_OF_PYICEBERG = frozenset({"hdfs", "oss"})
"""Those that PyIceberg has a FileIO for."""
_CLIENTS = {"s3.client": S3_SCHEMES, "gcs.client": GCS_SCHEMES, "adls.client": ADLS_SCHEMES}
_NATIVE, _FSSPEC = "native", "fsspec"
_HDFS = {"hdfs.host": "host", "hdfs.port": "port", "hdfs.user": "user", "hdfs.kerberos_ticket": "kerb_ticket"}
"""PyIceberg's properties, for lakes that have no others."""


_HARMLESS = frozenset({"host", "port", "user", "username", "region", "endpoint", "known_hosts", "key_filename"})
"""Arguments that an error may repeat."""
_SHORT = 3
"""A shorter text is a part of too many words."""


def check_fsspec(properties: Mapping[str, str]) -> None:
    """Refuses properties that would be ignored (S27).

    Raises:
        ConfigurationError: a client or a scheme is not known, or arguments are not a JSON object.
    """
    for name in _CLIENTS:
        if (client := properties.get(name, _NATIVE)) not in (_NATIVE, _FSSPEC):
            raise ConfigurationError(f"the property {name} is {client!r}; it must be {_NATIVE} or {_FSSPEC}")
    for name in properties:
        if name.startswith(ARGUMENTS):
            scheme = name.removeprefix(ARGUMENTS)
            if scheme not in FALLBACK_SCHEMES:
                known = ", ".join(sorted(FALLBACK_SCHEMES))
                raise ConfigurationError(
                    f"the property {name} names a scheme that is not used through fsspec; known are: {known}"
                )
            arguments(scheme, properties)


def is_through_fsspec(scheme: str, properties: Mapping[str, str]) -> bool:
    """Whether a scheme is listed and deleted through fsspec, and read unless :func:`is_read_by_pyiceberg`."""
    asked = (properties.get(name) == _FSSPEC for name, schemes in _CLIENTS.items() if scheme in schemes)
    return scheme in FALLBACK_SCHEMES or any(asked)


def is_read_by_pyiceberg(scheme: str, properties: Mapping[str, str]) -> bool:
    """Whether files of a scheme are read through PyIceberg's own FileIO, unless fsspec is configured."""
    is_ours = scheme in FALLBACK_SCHEMES and (ARGUMENTS + scheme in properties or scheme not in _OF_PYICEBERG)
    return not is_ours


def arguments(scheme: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the file system of a scheme.

    Raises:
        ConfigurationError: they are not a JSON object; the message does not show them.
    """
    name = ARGUMENTS + scheme
    if name not in properties:
        of_hdfs = _HDFS if scheme in ("hdfs", "arrow_hdfs") else {}
        made: dict[str, Any] = {word: properties[said] for said, word in of_hdfs.items() if properties.get(said)}
        return made | ({"port": int(made["port"])} if str(made.get("port", "")).isdecimal() else {})
    try:
        found = parsed_json(properties[name])
    except ValueError:
        found = None  # the error would show them
    if not isinstance(found, dict):
        raise ConfigurationError(f"the property {name} is not a JSON object of the file system's arguments")
    return found


def secrets_in(given: Mapping[str, Any]) -> list[str]:
    """The texts among the arguments of a file system that no error may show."""
    found: list[str] = []
    for name, value in given.items():
        if isinstance(value, Mapping):
            found.extend(secrets_in(value))
        elif isinstance(value, str) and len(value) > _SHORT and name not in _HARMLESS:
            found.append(value)
    return found
