"""HDFS through WebHDFS: files are read and written in whole, each request from whatever thread wants it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import urljoin

import requests

from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_iceberg_files.fsspec_moves import RenamingStore

_TIMEOUTS_SECONDS = (10, 120)
"""To connect, and to wait for an answer: a server that says nothing for so long does not answer any more."""
_STANDBY = "StandbyException"


class WebHdfsStore(RenamingStore):
    """One name node, or a gateway that speaks the same.

    A deletion names one path, is not recursive, and does not go through the trash.
    """

    _threads: ClassVar[int] = 8

    def __init__(
        self, file_system: Any, root: str, *, where: str, urls: Sequence[str] = (), secrets: Sequence[str] = ()
    ) -> None:
        """Takes fsspec's ``WebHDFS`` for the first name node.

        Args:
            file_system: fsspec's.
            root: what comes before every key in its paths.
            where: the store's own location, for messages.
            urls: all name nodes, without a path, the first one as fsspec has it; one of them is active.
            secrets: texts that no error may show.
        """
        super().__init__(file_system, root, where=where, is_bucket=False, secrets=secrets)
        self._fs.session = FailoverSession(urls, like=self._fs.session)

    def _call(self, name: str, *arguments: object, **named: object) -> Any:
        return getattr(self._fs, name)(*arguments, **named)  # one request each, over the connections of one session

    def _kind(self, path: str) -> str | None:
        try:
            return super()._kind(path)
        except LinkError:
            return "link"

    def _kind_to_delete(self, path: str) -> str | None:
        try:
            return super()._kind_to_delete(path)
        except LinkError:
            return "link"

    def _read(self, path: str) -> bytes:
        """The file, with all errors of the data node.

        fsspec's own reading gives the text of a data node's error as if it were the file's.
        """
        _check_composed(path)
        said = self._fs._call("OPEN", path=path, redirect=False)
        data_node = said.headers.get("Location")
        return bytes((said if data_node is None else self._ask_data_node("get", said)).content)

    def _write(self, path: str, data: bytes) -> None:
        """Creates the file, which fails where there is one."""
        _check_composed(path)
        said = self._fs._call("CREATE", method="put", path=path, redirect=False, overwrite="false")
        self._ask_data_node("put", said, data)

    def _make_folders(self, key: str) -> None:
        self._fs._call("MKDIRS", method="put", path=self._paths.folder(f"{key}/" if key else ""))

    def _rename(self, old: str, new: str) -> None:
        """In the way of Hadoop that fails where there is something; gateways know the other one only, which says so."""
        said = self._fs._call("RENAME", method="put", path=old, destination=new, renameoptions="NONE")
        if said.content and _answer(said).get("boolean") is False:
            raise OSError("the server did not rename it")

    def _ask_data_node(self, method: str, said: requests.Response, data: bytes | None = None) -> requests.Response:
        place = self._fs._apply_proxy(urljoin(said.url, said.headers["Location"]))
        kind = {} if data is None else {"Content-Type": "application/octet-stream"}
        answer: requests.Response = self._fs.session.request(method, place, data=data, headers=kind)
        answer.raise_for_status()
        return answer


class FailoverSession(requests.Session):
    """Requests to the name node that is active, found by asking, and to data nodes.

    Another one is asked where a name node is on standby or cannot be reached: what is asked for here has the same
    result when it is asked for twice.
    """

    def __init__(self, urls: Sequence[str], *, like: requests.Session) -> None:
        """Takes the addresses of the name nodes, of which requests name the first one, and what else a session has."""
        super().__init__()
        self.auth, self.verify, self.cert = like.auth, like.verify, like.cert
        self.hooks["response"].append(_check_answer)
        self._urls = list(urls)
        self._active = 0

    def request(self, method: Any, url: Any, *more: Any, **named: Any) -> requests.Response:
        """The answer of the active name node, or of the last one that was asked."""
        named.setdefault("timeout", _TIMEOUTS_SECONDS)
        if not self._urls or not str(url).startswith(f"{self._urls[0]}/"):
            return super().request(method, url, *more, **named)
        path, first = str(url)[len(self._urls[0]) :], self._active
        order = [(first + count) % len(self._urls) for count in range(len(self._urls))]
        for tried in order:
            try:
                answer = super().request(method, self._urls[tried] + path, *more, **named)
            except requests.ConnectionError:
                if tried == order[-1]:
                    raise
                continue
            if exception_of(answer) != _STANDBY:
                self._active = tried
                break
        return answer


class LinkError(OSError):
    """A path is a link, or leads through one: WebHDFS follows none."""


def _check_answer(answer: requests.Response, *_: object, **__: object) -> None:
    """Errors that fsspec does not tell from others."""
    exception = exception_of(answer)
    if exception == "UnresolvedPathException":
        raise LinkError("the path leads through a link")
    if exception == "FileAlreadyExistsException":
        raise FileExistsError("there is a file or a directory at the path")


def exception_of(answer: requests.Response) -> str | None:
    """Hadoop's name of what went wrong; ``None``: nothing, or nothing that Hadoop says."""
    if answer.ok:
        return None
    try:
        return str(_answer(answer)["RemoteException"]["exception"])
    except (ValueError, KeyError, TypeError):
        return None


def _answer(response: requests.Response) -> dict[str, Any]:
    """The JSON object of an answer.

    Raises:
        ValueError: it is none.
    """
    found = parsed_json(response.content)
    if not isinstance(found, dict):
        raise ValueError("the answer is not a JSON object")  # noqa: TRY004 - as for any other text
    return found


def _check_composed(path: str) -> None:
    """Refuses a name that the name node would change on the way to a data node, and so to another file (S4).

    Raises:
        ValueError: its characters are not composed. It is listed and deleted as it is, by the name node alone.
    """
    if unicodedata.normalize("NFC", path) != path:
        raise ValueError(f"WebHDFS would open another name than {path!r}, whose characters are not composed")
