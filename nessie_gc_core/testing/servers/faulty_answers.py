"""``python -m nessie_gc_core.testing.servers.faulty_answers PORT FILE``: the process of a fault proxy."""

from __future__ import annotations

import json
import random
import socket
import struct
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from nessie_gc_core.testing.servers.fault_proxy import COUNTS, Faults
from nessie_gc_core.testing.servers.handing_on import Answer, HandingOn, ProxyServer
from nessie_gc_core.testing.servers.process import LOOPBACK
from nessie_gc_core.testing.servers.signed import signed_headers

COUNTED = ("requests", "deletes", "unavailable", "key_errors", "resets", "expired", "slow")
"""What the proxy says how often it came."""


class _Day:
    """What goes wrong, and how often it did."""

    def __init__(self, faults: Faults, properties: Mapping[str, str]) -> None:
        self.faults = faults
        self.properties = properties
        self.counts = Counter(dict.fromkeys(COUNTED, 0))
        self.hangs = threading.Event()
        self._random = random.Random(faults.seed)
        self._lock = threading.Lock()

    def begins(self, *, is_deletion: bool) -> bool:
        """Counts a request; whether it is still answered."""
        with self._lock:
            self.counts["requests"] += 1
            self.counts["deletes"] += is_deletion
            faults = self.faults
            if faults.stop_at and self.counts["requests"] >= faults.stop_at:
                self.hangs.set()
            return not self.hangs.is_set()

    def ends(self, *, is_deletion: bool) -> bool:
        """Whether the answer is handed on."""
        last = self.faults.stop_at_delete
        if is_deletion and last and self.counts["deletes"] >= last:
            self.hangs.set()
        return not self.hangs.is_set()

    def happens(self, fault: str, share: float) -> bool:
        """Whether a fault strikes now."""
        with self._lock:
            strikes = share > 0 and self._random.random() < share
            self.counts[fault] += strikes
            return strikes


class _Handler(HandingOn):
    day: ClassVar[_Day]

    def respond(self) -> None:
        if self.path == COUNTS:
            body = json.dumps(self.day.counts).encode()
            self.say(Answer(200, [("Content-Type", "application/json")], body))
            return
        body = self.read_body()
        is_deletion = self.command == "POST" and "delete" in urlsplit(self.path).query.split("&")
        if not self.day.begins(is_deletion=is_deletion):
            self._hang()
            return
        answer = self._answer(body, is_deletion=is_deletion)
        if not self.day.ends(is_deletion=is_deletion):
            self._hang()
        elif answer is None:
            self._reset()
        else:
            self.say(answer)

    def _answer(self, body: bytes, *, is_deletion: bool) -> Answer | None:
        """The answer; ``None``: the connection is reset."""
        day, faults = self.day, self.day.faults
        if day.happens("slow", faults.slow):
            time.sleep(faults.slow_seconds)
        if day.happens("unavailable", faults.unavailable):
            return _error(503, "SlowDown", "Please reduce your request rate.")
        if day.happens("expired", faults.expired):
            return _error(400, "ExpiredToken", "The provided token has expired.")
        if day.happens("resets", faults.resets / 2):
            return None
        answer = self._without_some_keys(body) if is_deletion and faults.key_errors else self.hand_on(body)
        return None if day.happens("resets", faults.resets / 2) else answer

    def _without_some_keys(self, body: bytes) -> Answer:
        """Has the server delete the other keys, and adds errors of these to its answer."""
        keys = [
            found.text or ""
            for found in ElementTree.fromstring(body).iter()
            if found.tag.endswith("}Key") or found.tag == "Key"
        ]
        stay = [key for key in keys if self.day.happens("key_errors", self.day.faults.key_errors)]
        staying = set(stay)
        objects = "".join(f"<Object><Key>{escape(key)}</Key></Object>" for key in keys if key not in staying)
        said = "<DeleteResult></DeleteResult>"
        if objects:
            rest = f"<Delete>{objects}</Delete>".encode()
            headers = signed_headers("POST", self.path, rest, self.day.properties)
            answer = self.ask("POST", self.path, [*headers.items()], rest)
            if answer.status != 200:
                return answer
            said = answer.body.decode()
        code = self.day.faults.key_error
        errors = "".join(
            f"<Error><Key>{escape(key)}</Key><Code>{code}</Code><Message>later</Message></Error>" for key in stay
        )
        before, _, after = said.rpartition("</DeleteResult>")
        return Answer(200, [("Content-Type", "application/xml")], f"{before}{errors}</DeleteResult>{after}".encode())

    def _hang(self) -> None:
        """Answers nothing until the client is gone."""
        self.close_connection = True
        while self.connection.recv(4096):
            continue

    def _reset(self) -> None:
        """Closes the connection so that the client gets RST."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def _error(status: int, code: str, message: str) -> Answer:
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status, [("Content-Type", "application/xml")], body.encode())


def main() -> None:
    """Serves until it is ended."""
    port, file = sys.argv[1:]
    given = json.loads(Path(file).read_text(encoding="utf-8"))
    _Handler.day = _Day(Faults(**given["faults"]), given["properties"])
    _Handler.endpoint = given["properties"]["s3.endpoint"]
    with ProxyServer((LOOPBACK, int(port)), _Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
