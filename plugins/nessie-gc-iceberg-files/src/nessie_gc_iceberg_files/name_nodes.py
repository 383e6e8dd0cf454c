"""Which name nodes serve an ``hdfs`` location: only those that the configuration files of Hadoop name (S28)."""

from __future__ import annotations

import functools
import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import ARGUMENTS, host_refusal
from nessie_gc_iceberg_files.hadoop_files import FILES, HadoopFiles
from nessie_gc_iceberg_files.places import Place, place_of

FOLDER = "hdfs.conf-dir"
"""The property that names the folder of the files; without it the environment does."""
_VARIABLE, _USER = "HADOOP_CONF_DIR", "HADOOP_USER_NAME"
_OTHERS = (f"{ARGUMENTS}hdfs", "hdfs.host")
"""Properties that say how ``hdfs`` is reached instead."""
_RPC_PORT = "8020"
_ANY_HOST = ("", "0.0.0.0", "::")


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodes:
    """The name nodes of one file system, one of which is active."""

    addresses: tuple[str, ...]
    """``host:port`` of WebHDFS, at least one."""
    is_https: bool
    is_kerberos: bool

    def arguments(self) -> dict[str, Any]:
        """What fsspec's WebHDFS is given for the first of them."""
        host, _, port = self.addresses[0].rpartition(":")
        # Without Kerberos, Hadoop's client asks as the user that the environment names, else as the one who runs it.
        who: dict[str, Any] = (
            {"kerberos": True} if self.is_kerberos else {"user": os.environ.get(_USER) or getpass.getuser()}
        )
        return {"host": host, "port": int(port), "use_https": self.is_https, **who}

    @property
    def urls(self) -> list[str]:
        """Each of them, without a path."""
        return [f"{'https' if self.is_https else 'http'}://{address}" for address in self.addresses]


def refusal_of(raw: str, properties: Mapping[str, str]) -> str | None:
    """Why no request may be sent to the host of a raw path; ``None``: it may.

    Raises:
        ConfigurationError: Hadoop's files cannot be read.
    """
    refusal = host_refusal(raw, properties)
    if refusal is None or any(character in raw for character in "\t\r\n"):
        return refusal
    try:
        place = place_of(raw)
    except ValueError:
        return refusal
    return refusal if name_nodes(place, properties) is None else None


def name_nodes(place: Place, properties: Mapping[str, str]) -> NameNodes | None:
    """Who serves a place by Hadoop's files; ``None``: it is reached in another way, or they do not name it.

    Raises:
        ConfigurationError: they cannot be read, or do not say where WebHDFS is.
    """
    if place.scheme != "hdfs" or any(name in properties for name in _OTHERS):
        return None
    folder = _folder(properties)
    return None if folder is None else _name_nodes(_read(folder), place.authority)


def check_hadoop(properties: Mapping[str, str]) -> None:
    """Refuses a folder that cannot be read, or would be ignored (S27).

    Raises:
        ConfigurationError: it is so.
    """
    if folder := properties.get(FOLDER):
        ignoring = [name for name in _OTHERS if name in properties]
        if ignoring:
            raise ConfigurationError(f"{FOLDER} and {ignoring[0]} are mutually exclusive; remove one of them")
        _read(folder)


def _folder(properties: Mapping[str, str]) -> str | None:
    if named := properties.get(FOLDER):
        return named
    folder = os.environ.get(_VARIABLE)  # images set it for folders that they do not have
    return folder if folder and any((Path(folder) / name).is_file() for name in FILES) else None


def _read(folder: str) -> HadoopFiles:
    paths = (Path(folder) / name for name in FILES)
    return _read_once(folder, tuple(path.stat().st_mtime_ns if path.is_file() else None for path in paths))


@functools.lru_cache(maxsize=8)
def _read_once(folder: str, times: tuple[int | None, ...]) -> HadoopFiles:
    return HadoopFiles(Path(folder))


def _name_nodes(files: HadoopFiles, authority: str) -> NameNodes | None:
    scheme, _, default = files.get("fs.defaultFS").rstrip("/").partition("://")
    default = default if scheme == "hdfs" else ""
    asked = authority or default
    services = files.listed("dfs.nameservices")
    for service in services:
        suffixes = [f".{service}.{node}" for node in files.listed(f"dfs.ha.namenodes.{service}")] or [f".{service}"]
        rpc = {_with_port(files.get(f"dfs.namenode.rpc-address{suffix}"), _RPC_PORT) for suffix in suffixes}
        if asked and (asked == service or _with_port(asked, _RPC_PORT) in rpc - {""}):
            return _of(files, suffixes)
    named = {default, files.get("dfs.namenode.rpc-address")} - {"", *services}
    if asked and _with_port(asked, _RPC_PORT) in {_with_port(each, _RPC_PORT) for each in named}:
        return _of(files, [""], asked.partition(":")[0])
    return None


def _of(files: HadoopFiles, suffixes: list[str], host: str = "") -> NameNodes:
    is_https = files.get("dfs.http.policy").upper() == "HTTPS_ONLY"
    name = f"dfs.namenode.{'https' if is_https else 'http'}-address"
    port = "9871" if is_https else "9870"
    return NameNodes(
        addresses=tuple(_address(files, f"{name}{suffix}", host, port) for suffix in suffixes),
        is_https=is_https,
        is_kerberos=files.get("hadoop.security.authentication").lower() == "kerberos",
    )


def _address(files: HadoopFiles, name: str, host: str, port: str) -> str:
    named, colon, number = files.get(name).rpartition(":")
    if not colon:
        named, number = number, port
    named = host if named in _ANY_HOST else named
    if not named or not number.isdecimal():
        raise ConfigurationError(f"{files.folder} does not say where WebHDFS is: set {name} to host:port")
    return f"{named}:{number}"


def _with_port(address: str, port: str) -> str:
    address = address.lower()
    return address if not address or ":" in address else f"{address}:{port}"
