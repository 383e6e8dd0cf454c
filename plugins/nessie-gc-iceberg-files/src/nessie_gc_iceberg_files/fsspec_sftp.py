"""One SFTP server, through fsspec's file system for it, and past what that does with links, directories and threads."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from threading import BoundedSemaphore
from typing import Any

from fsspec.implementations.sftp import SFTPFileSystem
from paramiko import AutoAddPolicy, RejectPolicy, SFTPAttributes, SFTPClient, SSHClient

from nessie_gc_core.errors import ListingError
from nessie_gc_iceberg_files.fsspec_entries import Entry, Kind
from nessie_gc_iceberg_files.fsspec_moves import RenamingStore

_CHANNELS = 4
"""At once; servers allow about ten on one connection."""
_TIMEOUT_SECONDS = 60.0
_POLICIES = {"reject": RejectPolicy, "auto_add": AutoAddPolicy}


class CheckedSftp(SFTPFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Shows credentials only to a server whose key is known; fsspec's own trusts whoever answers."""

    def __init__(
        self, host: str, *, known_hosts: str | None = None, host_key_policy: str = "reject", **arguments: Any
    ) -> None:
        if host_key_policy not in _POLICIES:
            raise ValueError(f"host_key_policy must be {' or '.join(_POLICIES)}")
        self._known_hosts, self._policy = known_hosts, _POLICIES[host_key_policy]
        super().__init__(host, **{"timeout": _TIMEOUT_SECONDS, **arguments})

    def _connect(self) -> None:
        self.client = SSHClient()
        try:
            self.client.load_system_host_keys(self._known_hosts)
            self.client.set_missing_host_key_policy(self._policy())
            self.client.connect(self.host, **self.ssh_kwargs)
            self.ftp = self.client.open_sftp()
        except BaseException:
            self.client.close()
            raise


class SftpStore(RenamingStore):
    """Asks about each name without following links, and deletes with a call that refuses directories.

    An SFTP channel answers one thread at a time, so there are several of them on the one connection. The store cannot
    know of files that metadata names through a link: see the README.
    """

    _threads = _CHANNELS

    def __init__(self, file_system: Any, *, where: str, secrets: Sequence[str] = ()) -> None:
        super().__init__(file_system, "/", where=where, is_bucket=False, secrets=secrets)
        self._slots = BoundedSemaphore(_CHANNELS)
        self._free: list[SFTPClient] = [file_system.ftp]

    def close(self) -> None:
        """Closes the connection."""
        self._fs.client.close()

    @contextmanager
    def _channel(self) -> Iterator[SFTPClient]:
        with self._slots:
            self._connect_again()
            try:
                channel = self._free.pop()
            except IndexError:
                channel = self._fs.client.open_sftp()
            channel.get_channel().settimeout(_TIMEOUT_SECONDS)
            try:
                yield channel
            except OSError as error:
                if error.errno is None:  # no answer of the server's: what comes next may belong to this call
                    channel.close()
                else:
                    self._free.append(channel)
                raise
            except BaseException:
                channel.close()
                raise
            self._free.append(channel)

    def _connect_again(self) -> None:
        with self._one_at_a_time:
            transport = self._fs.client.get_transport()
            if transport is None or not transport.is_active():
                self._fs.client.close()
                self._fs._connect()
                self._free = [self._fs.ftp]

    def _entries(self, folder: str) -> Sequence[Entry]:
        with self._channel() as channel:
            found = channel.listdir_attr(folder)
        inside = folder if folder.endswith("/") else f"{folder}/"
        return [_entry(inside + attributes.filename, attributes) for attributes in found]

    def _kept(self, entry: Entry) -> Entry | None:
        """A link to a file is a file: deleting it removes the link."""
        if entry.kind != "link":
            return super()._kept(entry)
        try:
            kind = self._kind_to_delete(entry.path)
        except OSError as error:
            raise ListingError(f"cannot list {entry.path}: {error.strerror or error}") from error
        return replace(entry, kind="file") if kind == "file" else None

    def _kind(self, path: str) -> str | None:
        try:
            with self._channel() as channel:
                return _entry(path, channel.lstat(path)).kind
        except FileNotFoundError:
            return None

    def _kind_to_delete(self, path: str) -> str | None:
        kind = self._kind(path)
        if kind != "link":
            return kind
        try:
            with self._channel() as channel:
                return "file" if stat.S_ISREG(channel.stat(path).st_mode or 0) else kind
        except FileNotFoundError:
            return kind

    def _read(self, path: str) -> bytes:
        found = io.BytesIO()
        with self._channel() as channel:
            channel.getfo(path, found)
        return found.getvalue()

    def _write(self, path: str, data: bytes) -> None:
        with self._channel() as channel, channel.open(path, "wx") as file:
            file.write(data)

    def _remove(self, path: str) -> None:
        with self._channel() as channel:
            channel.remove(path)

    def _make_folders(self, key: str) -> None:
        elements = key.split("/") if key else []
        missing: list[str] = []
        while elements and self._kind(path := self._paths.of("/".join(elements))) is None:
            missing.append(path)
            elements.pop()
        for path in reversed(missing):
            try:
                with self._channel() as channel:
                    channel.mkdir(path)
            except OSError:
                if self._kind(path) != "directory":  # else another thread made it
                    raise

    def _rename(self, old: str, new: str) -> None:
        """As version 3 of the protocol has it: it fails where there is something; OpenSSH's extension overwrites."""
        with self._channel() as channel:
            channel.rename(old, new)


def _entry(path: str, attributes: SFTPAttributes) -> Entry:
    mode, modified = attributes.st_mode or 0, attributes.st_mtime
    return Entry(
        path=path,
        kind=_kind(mode),
        size=attributes.st_size,
        modified=datetime.fromtimestamp(modified, UTC) if modified is not None else None,
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"
