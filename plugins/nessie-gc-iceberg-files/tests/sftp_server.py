"""An SFTP server on the loopback, in this process, over a folder of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko import SFTPAttributes, SFTPHandle, SFTPServer, SFTPServerInterface

PASSWORD = "correct-horse"


@dataclass
class RunningServer:
    """Where it is, and what was asked of it."""

    port: int
    folder: Path
    host_key: paramiko.PKey
    logins: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Paths whose listing fails."""
    transports: list[paramiko.Transport] = field(default_factory=list)

    def hang_up(self) -> None:
        """Ends all connections."""
        for transport in self.transports:
            transport.close()

    def known_hosts(self, folder: Path) -> Path:
        """A file with the server's key."""
        path = folder / "known_hosts"
        entry = f"[127.0.0.1]:{self.port} {self.host_key.get_name()} {self.host_key.get_base64()}\n"
        path.write_text(entry)
        return path


class _Login(paramiko.ServerInterface):
    def __init__(self, running: RunningServer) -> None:
        self.running = running

    def check_auth_password(self, username: str, password: str) -> int:
        self.running.logins.append(username)
        return paramiko.AUTH_SUCCESSFUL if password == PASSWORD else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED


class _Folder(SFTPServerInterface):
    """The verbs of SFTP on a folder, each as the server of OpenSSH does it."""

    def __init__(self, server: _Login, *more: object, **named: object) -> None:
        self.running = server.running
        super().__init__(server, *more, **named)

    def _real(self, path: str) -> str:
        return os.fspath(self.running.folder) + path

    def list_folder(self, path):
        if path in self.running.broken:
            return paramiko.SFTP_FAILURE
        try:
            return [
                SFTPAttributes.from_stat(entry.stat(follow_symlinks=False), entry.name)
                for entry in os.scandir(self._real(path))
            ]
        except OSError as error:
            return SFTPServer.convert_errno(error.errno)

    def stat(self, path):
        return self._attributes(os.stat, path)

    def lstat(self, path):
        return self._attributes(os.lstat, path)

    def _attributes(self, ask, path):
        try:
            return SFTPAttributes.from_stat(ask(self._real(path)))
        except OSError as error:
            return SFTPServer.convert_errno(error.errno)

    def open(self, path, flags, attr):
        try:
            file = os.open(self._real(path), flags & ~os.O_APPEND, 0o644)
        except OSError as error:
            return SFTPServer.convert_errno(error.errno)
        handle = SFTPHandle(flags)
        if flags & os.O_WRONLY:
            handle.writefile = os.fdopen(file, "wb")
        else:
            handle.readfile = os.fdopen(file, "rb")
        handle.filename = path
        return handle

    def remove(self, path):
        try:
            Path(self._real(path)).unlink()
        except OSError as error:
            return paramiko.SFTP_FAILURE if error.errno == errno.EISDIR else SFTPServer.convert_errno(error.errno)
        return paramiko.SFTP_OK

    def mkdir(self, path, attr):
        try:
            Path(self._real(path)).mkdir()
        except OSError as error:
            return SFTPServer.convert_errno(error.errno)
        return paramiko.SFTP_OK

    def rename(self, oldpath, newpath):
        try:
            os.link(self._real(oldpath), self._real(newpath), follow_symlinks=False)
        except FileExistsError:
            return paramiko.SFTP_FAILURE
        except OSError as error:
            return SFTPServer.convert_errno(error.errno)
        return self.remove(oldpath)

    def rmdir(self, path):
        Path(self._real(path)).rmdir()
        return paramiko.SFTP_OK


@contextmanager
def sftp_server(folder: Path) -> Iterator[RunningServer]:
    """Runs it; the root of its files is the folder."""
    key = paramiko.ECDSAKey.generate()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = RunningServer(listener.getsockname()[1], folder, key)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    transport = paramiko.Transport(connection)
                    transport.add_server_key(key)
                    transport.set_subsystem_handler("sftp", SFTPServer, _Folder)
                    with contextlib.suppress(Exception):  # a client that went away
                        transport.start_server(server=_Login(running))
                    running.transports.append(transport)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            running.hang_up()
