"""A Nessie server that asks for tokens and checks the rules of a file, with accounts that lack one right each."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from nessie_gc_core.testing.servers import NessieServer, running

RULES = Path(__file__).parents[1] / "examples" / "rights" / "nessie" / "rules.properties"
ADMIN = "admin"
_RULE = "nessie.server.authorization.rules."


def rules() -> Mapping[str, str]:
    """The properties of the file."""
    lines = [line for line in RULES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def rights(account: str) -> Sequence[str]:
    """The operations that the file allows to an account."""
    return [found for rule in _rules_of(account) for found in re.findall(r"'([A-Z_]+)'", rule)]


def lacking(account: str, right: str) -> str:
    """The name of an account that has all rights of another but one."""
    return f"{account}-without-{right}"


@dataclass(frozen=True, kw_only=True)
class GuardedNessie:
    """The server, and tokens for it."""

    uri: str
    key: rsa.RSAPrivateKey

    def token(self, account: str) -> str:
        """A token that is good for an hour."""
        now = int(time.time())
        claims = {"sub": account, "preferred_username": account, "iat": now, "exp": now + 3600}
        said = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
        return f"{said}.{_encoded(self.key.sign(said.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def commit(self, key: str, content: Mapping[str, Any]) -> str | None:
        """Commits a content to ``main``; its id, if it is new."""
        head = self.ask("GET", "/trees/main")["reference"]["hash"]
        put = {"type": "PUT", "key": {"elements": key.split(".")}, "content": content}
        body = {"commitMeta": {"message": "by a test"}, "operations": [put]}
        added = self.ask("POST", f"/trees/main@{head}/history/commit", body).get("addedContents")
        return str(added[0]["contentId"]) if added else None

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the administrator is answered."""
        headers = {"Authorization": f"Bearer {self.token(ADMIN)}"}
        answer = requests.request(method, self.uri + path, json=body, headers=headers, timeout=30)
        assert answer.ok, answer.text
        return dict(answer.json())


@contextmanager
def guarded(*accounts: str) -> Iterator[GuardedNessie]:
    """A server with the rules of the file, and those of all accounts that lack a right of one of these."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    properties = {
        **rules(),
        **{name: rule for account in accounts for name, rule in _lacking_rules(account)},
        f"{_RULE}admin": f"role == '{ADMIN}'",
        "nessie.server.authentication.enabled": "true",
        "quarkus.oidc.tenant-enabled": "true",
        "quarkus.oidc.client-id": "nessie",
        "quarkus.oidc.public-key": base64.b64encode(public).decode(),
    }
    with running(lambda: NessieServer(properties=properties)) as server:
        yield GuardedNessie(uri=server.uri, key=key)


def _rules_of(account: str) -> Sequence[str]:
    return [rule for rule in rules().values() if f"'{account}'" in rule]


def _lacking_rules(account: str) -> Iterator[tuple[str, str]]:
    for right in rights(account):
        for number, rule in enumerate(_rules_of(account)):
            changed = rule.replace(f"'{account}'", f"'{lacking(account, right)}'").replace(f"'{right}'", "'NOTHING'")
            yield f"{_RULE}{account}-{right}-{number}", changed


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
