"""A client of a real Nessie that makes histories, and writes down all that it answers."""

from __future__ import annotations

import random
from typing import Any

import requests
from nessie_gc_internal.kinds import NO_COMMIT

Json = dict[str, Any]


class Nessie:
    """The REST API, version 2."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._session = requests.Session()

    def close(self) -> None:
        self._session.close()

    def get(self, path: str, **parameters: str | int) -> Json:
        response = self._session.get(f"{self._uri}/{path}", params=parameters, timeout=60)
        response.raise_for_status()
        return response.json()

    def reference(self, name: str) -> Json:
        return self.get(f"trees/{name}")["reference"]

    def references(self) -> list[Json]:
        return self._pages("trees", "references")

    def create(self, name: str, source: Json, *, type_: str = "BRANCH") -> Json:
        return self._send("POST", f"trees?name={name}&type={type_}", source)["reference"]

    def create_at(self, name: str, commit: str) -> None:
        """Creates a branch at a commit that no reference may reach."""
        self.create(name, {"type": "DETACHED", "hash": commit})

    def delete(self, name: str) -> str:
        """Deletes a reference; gives the commit that it pointed to."""
        head = self.reference(name)["hash"]
        self._send("DELETE", f"trees/{name}@{head}")
        return head

    def reset(self, name: str, target: Json) -> None:
        self._send("PUT", f"trees/{name}@{self.reference(name)['hash']}", target)

    def commit(self, branch: str, puts: dict[str, Json] | None = None, deletes: tuple[str, ...] = ()) -> str:
        operations = [
            {"type": "PUT", "key": {"elements": [key]}, "content": value} for key, value in (puts or {}).items()
        ]
        operations += [{"type": "DELETE", "key": {"elements": [key]}} for key in deletes]
        body = {"commitMeta": {"message": "a commit"}, "operations": operations}
        head = self.reference(branch)["hash"]
        return self._send("POST", f"trees/{branch}@{head}/history/commit", body)["targetBranch"]["hash"]

    def merge(self, branch: str, source: Json) -> None:
        body = {"fromRefName": source["name"], "fromHash": source["hash"], "defaultKeyMergeMode": "FORCE"}
        self._send("POST", f"trees/{branch}@{self.reference(branch)['hash']}/history/merge", body)

    def history(self, reference: Json) -> list[Json]:
        return self._pages(f"trees/{reference['name']}@{reference['hash']}/history", "logEntries", fetch="ALL")

    def entries(self, place: str) -> list[Json]:
        return self._pages(f"trees/{place}/entries", "entries", content="true")

    def commits(self) -> set[str]:
        """The hashes of all commits that references reach, merged ones included."""
        found: set[str] = set()
        waiting = [reference["hash"] for reference in self.references()]
        while waiting:
            head = waiting.pop()
            if head in found or head == NO_COMMIT.hex():
                continue
            for entry in self._pages(f"trees/@{head}/history", "logEntries", fetch="ALL"):
                meta = entry["commitMeta"]
                found.add(meta["hash"])
                waiting += meta.get("parentCommitHashes", [])
        return found

    def everything(self) -> Json:
        """All references, their histories, and every content at every commit."""
        references = sorted(self.references(), key=lambda reference: reference["name"])
        commits = sorted(self.commits())
        return {
            "references": references,
            "histories": {reference["name"]: self.history(reference) for reference in references},
            "entries": {commit: self.entries(f"@{commit}") for commit in commits},
        }

    def contents(self) -> set[tuple[str, str]]:
        """Id and metadata location of every state of a table at any commit that references reach."""
        found = (entry["content"] for commit in self.commits() for entry in self.entries(f"@{commit}"))
        return {(content["id"], content["metadataLocation"]) for content in found}

    def _pages(self, path: str, name: str, **parameters: str | int) -> list[Json]:
        found: list[Json] = []
        token: dict[str, str] = {}
        while True:
            page = self.get(path, **parameters, **token)
            found += page[name]
            if not page.get("hasMore"):
                return found
            token = {"page-token": page["token"]}

    def _send(self, method: str, path: str, body: Json | None = None) -> Json:
        response = self._session.request(method, f"{self._uri}/{path}", json=body, timeout=60)
        assert response.ok, response.text
        return response.json() if response.content else {}


def table(location: str, content_id: str | None = None) -> Json:
    """A state of an Iceberg table."""
    content: Json = {
        "type": "ICEBERG_TABLE",
        "metadataLocation": f"s3://lake/{location}.metadata.json",
        "snapshotId": 1,
        "schemaId": 0,
        "specId": 0,
        "sortOrderId": 0,
    }
    return content if content_id is None else {**content, "id": content_id}


def random_history(nessie: Nessie, seed: int, steps: int) -> None:
    """Commits, branches, tags, merges, resets and deletions, all under names with the seed in them."""
    choice = random.Random(seed)
    main = f"r{seed}"
    nessie.create(main, nessie.reference("main"))
    nessie.commit(main, {"first": table(f"{seed}/first")})  # so that all branches can be merged
    branches, tags = [main], []
    for step in range(steps):
        branch = choice.choice(branches)
        action = choice.choices(("commit", "branch", "tag", "merge", "reset", "delete"), (12, 3, 1, 5, 1, 3))[0]
        head = nessie.reference(branch)
        if action == "commit":
            _random_commit(nessie, branch, choice, f"{seed}/{step}")
        elif action == "branch":
            branches.append(nessie.create(f"r{seed}-{step}", head)["name"])
        elif action == "tag":
            tags.append(nessie.create(f"t{seed}-{step}", head, type_="TAG")["name"])
        elif action == "merge" and len(branches) > 1:
            nessie.merge(branch, nessie.reference(choice.choice([each for each in branches if each != branch])))
        elif action == "reset" and branch != main:
            nessie.reset(branch, nessie.reference(main))
        elif action == "delete" and branch != main:
            branches.remove(branch)
            nessie.delete(branch)
        elif action == "delete" and tags:
            nessie.delete(tags.pop())


def _random_commit(nessie: Nessie, branch: str, choice: random.Random, location: str) -> None:
    there = {entry["name"]["elements"][0]: entry["content"]["id"] for entry in nessie.entries(branch)}
    key = f"table-with-a-long-name-{choice.randrange(40):02}"
    if key in there and choice.random() < 0.3:
        nessie.commit(branch, deletes=(key,))
    else:
        nessie.commit(branch, {key: table(location, there.get(key))})
