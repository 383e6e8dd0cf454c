"""Opens fsspec's file system for a place: through PyIceberg's properties, or with the arguments of its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fsspec
from fsspec.implementations.arrow import HadoopFileSystem
from pyiceberg.io.fsspec import FsspecFileIO

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import ARGUMENTS
from nessie_gc_iceberg_files.fsspec_entries import reason_of
from nessie_gc_iceberg_files.fsspec_hdfs import NativeHdfsStore
from nessie_gc_iceberg_files.fsspec_options import FALLBACK_SCHEMES, SERVER_SCHEMES, arguments, secrets_in
from nessie_gc_iceberg_files.fsspec_store import FsspecStore
from nessie_gc_iceberg_files.name_nodes import name_nodes
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES, Place
from nessie_gc_iceberg_files.stores import Store

_SIGNER = "s3.signer"
_BY_PATH, _BY_HOST = "s3.path-style-access", "s3.force-virtual-addressing"
_SFTP = frozenset({"sftp", "ssh"})


def fsspec_store(place: Place, properties: Mapping[str, str]) -> Store:
    """The store of a place.

    Raises:
        ConfigurationError: the file system cannot be made; the message shows no property.
        ImportError: its library is not installed.
    """
    try:
        if place.scheme in S3_SCHEMES:
            return _s3(place, properties)
        if place.scheme in GCS_SCHEMES:
            return _gcs(place, properties)
        if place.scheme in ADLS_SCHEMES:
            return _adls(place, properties)
        return _of_scheme(place, properties)
    except (ConfigurationError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 - file systems raise many kinds on missing or wrong arguments
        secrets = secrets_in(arguments(place.scheme, properties)) if place.scheme in FALLBACK_SCHEMES else ()
        reason = reason_of(error, secrets)
        raise ConfigurationError(f"cannot open a file system for {_where(place)}: {reason}") from None


def _s3(place: Place, properties: Mapping[str, str]) -> Store:
    from nessie_gc_iceberg_files.fsspec_s3 import S3fsStore

    if _SIGNER in properties:
        raise ConfigurationError(f"the property {_SIGNER!r} is not supported; give the collector credentials")
    made = dict(properties)
    if properties.get(_BY_PATH, "").strip().lower() == "false":
        made.setdefault(_BY_HOST, "true")  # PyIceberg knows this word only
    return S3fsStore(FsspecFileIO(made).get_fs("s3"), place.authority)


def _gcs(place: Place, properties: Mapping[str, str]) -> Store:
    from nessie_gc_iceberg_files.fsspec_gcs import GcsfsStore

    return GcsfsStore(place.authority, properties)


def _adls(place: Place, properties: Mapping[str, str]) -> Store:
    from nessie_gc_iceberg_files.fsspec_adls import AdlfsStore

    return AdlfsStore(place.authority, properties)


def _of_scheme(place: Place, properties: Mapping[str, str]) -> Store:
    nodes = name_nodes(place, properties)
    given = arguments(place.scheme, properties) if nodes is None else nodes.arguments()
    if place.scheme in SERVER_SCHEMES and nodes is None:
        given = _with_host(place, given)
    if place.scheme in _SFTP:
        from nessie_gc_iceberg_files.fsspec_sftp import CheckedSftp, SftpStore

        connected = CheckedSftp(**given, skip_instance_cache=True)
        return SftpStore(connected, where=_where(place), secrets=secrets_in(given))
    made: Any = fsspec.get_filesystem_class(place.scheme if nodes is None else "webhdfs")
    file_system = made(**given, skip_instance_cache=True)
    root = _root(made, place)
    if nodes is not None or place.scheme == "webhdfs":
        from nessie_gc_iceberg_files.fsspec_webhdfs import WebHdfsStore

        urls = [] if nodes is None else nodes.urls
        return WebHdfsStore(file_system, root, where=_where(place), urls=urls, secrets=secrets_in(given))
    is_bucket = place.scheme not in SERVER_SCHEMES
    store = NativeHdfsStore if isinstance(file_system, HadoopFileSystem) else FsspecStore
    return store(file_system, root, where=_where(place), is_bucket=is_bucket, secrets=secrets_in(given))


def _with_host(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the server that a location names; it is the configured one, or a trusted one (S28).

    Raises:
        ConfigurationError: the location is on another server than the arguments.
    """
    host, port = str(given.get("host") or ""), given.get("port")
    name, colon, number = place.authority.rpartition(":")
    named = name if colon and number.isdecimal() else place.authority
    if not place.authority:
        return given
    if "@" in place.authority:
        raise ConfigurationError(f"{_where(place)} names a user: move it to the property {ARGUMENTS}{place.scheme}")
    if host and place.authority.lower() not in (host.lower(), f"{host}:{port}".lower()):
        raise ConfigurationError(f"{_where(place)} is not on the server that {ARGUMENTS}{place.scheme} is for")
    if host:
        return given
    return {**given, "host": named, **({"port": int(number)} if named != place.authority else {})}


def _root(made: Any, place: Place) -> str:
    """What comes before each key in the file system's paths.

    Raises:
        ConfigurationError: it cannot be told.
    """
    found = str(made._strip_protocol(f"{_where(place)}k"))
    authority = place.authority
    roots = {"/"} if place.scheme in SERVER_SCHEMES else {f"{authority}/", f"/{authority}/"}
    if found.removesuffix("k") not in roots or not found.endswith("/k"):
        raise ConfigurationError(f"cannot tell how fsspec reads {_where(place)}, so nothing is done there")
    return found.removesuffix("k")


def _where(place: Place) -> str:
    return f"{place.scheme}://{place.authority}/"
