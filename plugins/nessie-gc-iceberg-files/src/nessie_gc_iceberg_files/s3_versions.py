"""Versions in one S3 bucket: hidden behind delete markers, shown again, and deleted by their ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.versions import (
    FileVersion,
    KeyVersion,
    ToDelete,
    ToPurge,
    VersionOutcome,
    VersionStatus,
    hidden,
    shown,
    to_delete,
    to_hide,
    to_purge,
    to_show,
    visible,
)
from nessie_gc_iceberg_files.s3_deletions import Named
from nessie_gc_iceberg_files.s3_lifecycle import warnings_of
from nessie_gc_iceberg_files.s3_rights import said_of
from nessie_gc_iceberg_files.side_by_side import side_by_side
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.traffic import asking, each_asked

_GONE = "it was deleted at the same moment, by somebody else or by a request whose answer was lost"
_TOGETHER = 25
"""The versions of so many keys are listed one after the other in a thread."""
Slot = Callable[..., AbstractContextManager[None]]
"""Waits until a request for a key may begin, unless the call is stopped."""
Delete = Callable[[str, Sequence[str], Mapping[str, Named], dict[str, str]], Iterator[DeleteOutcome]]
"""Deletes some paths below a prefix: by what names their version, and tells the markers that were made."""
_Looked = tuple[FileVersion, list[KeyVersion] | str]
"""A file and its versions, or why they cannot be listed."""


@dataclass(frozen=True, slots=True)
class S3Versions:
    """The requests that hide, show and purge in one bucket."""

    client: Any
    """Of boto3."""
    bucket: str
    slot: Slot
    delete: Delete
    in_key_order: bool
    """Whether the keys of a listing are in the order of their bytes, so that those of a prefix itself come first."""

    # ---- what the bucket says of itself -------------------------------------------------------------------
    def hide_refusal(self) -> str | None:
        """Versioning has to be on: where it is suspended, a deletion replaces a version for good."""
        name = f"s3://{self.bucket}/"
        try:
            said = self._versioning()
        except (ClientError, BotoCoreError) as error:
            return f"whether {name} keeps versions is unknown ({said_of(error)}); name a folder as `quarantine`"
        if said.get("Status") != "Enabled":
            is_now = str(said.get("Status", "off")).lower()
            return f"versioning of {name} is {is_now}; enable it, or name a folder as `quarantine`"
        return self._mfa(said)

    def release_refusal(self) -> str | None:
        """With MFA delete no version goes without a code."""
        try:
            return self._mfa(self._versioning())
        except (ClientError, BotoCoreError):
            return None  # each version says it

    def version_refusal(self) -> str | None:
        """Where versioning is suspended, the same id may name another version a moment later."""
        try:
            said = self._versioning()
        except (ClientError, BotoCoreError) as error:
            return f"the bucket does not say whether it keeps versions ({said_of(error)})"
        status = str(said.get("Status", "off")).lower()
        return self._mfa(said) if status == "enabled" else f"versioning is {status}"

    def _versioning(self) -> Mapping[str, Any]:
        with asking(), self.slot(""):
            said: Mapping[str, Any] = self.client.get_bucket_versioning(Bucket=self.bucket)
        return said

    def _mfa(self, said: Mapping[str, Any]) -> str | None:
        if said.get("MFADelete") != "Enabled":
            return None
        return f"MFA delete is on for s3://{self.bucket}/, so its versions and delete markers cannot be deleted here"

    def hide_warnings(self, prefixes: Sequence[str], duration: timedelta) -> Sequence[str]:
        """What lifecycle rules do with noncurrent versions too early."""
        with asking(), self.slot(""):
            return warnings_of(self.client, self.bucket, prefixes, duration)

    # ---- files --------------------------------------------------------------------------------------------
    def hide(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Lists the versions of each key before and after; deletes in bulk in between."""
        doomed: dict[str, tuple[FileVersion, list[KeyVersion], KeyVersion]] = {}
        for file, found in self._look(prefix, files):
            said = _failed(file, found) if isinstance(found, str) else to_hide(found, file)
            if isinstance(said, VersionOutcome):
                yield said
            else:
                assert not isinstance(found, str)
                doomed[file.path] = file, found, said
        if not doomed:
            return
        # Servers that know the condition refuse what was written again in this moment; of others the look after tells.
        tags = {path: {"ETag": version.etag} for path, (_, _, version) in doomed.items() if version.etag}
        made: dict[str, str] = {}
        said_of = self.delete(prefix, [*doomed], tags, made)
        failed = {each.path: each.reason or _GONE for each in said_of if each.status is not DeleteStatus.DELETED}
        wrong = list[tuple[FileVersion, str, VersionOutcome]]()
        for file, after in self._look(prefix, [file for file, _, _ in doomed.values()]):
            _, before, version = doomed[file.path]
            told = made.get(file.path, "")
            outcome = _failed(file, after) if isinstance(after, str) else hidden(before, after, file, version, told)
            if file.path in failed:  # a marker that is there all the same is somebody else's
                yield _failed(file, failed[file.path])
            elif outcome.status is VersionStatus.DONE or isinstance(after, str):
                yield outcome
            else:
                wrong.append((file, told, outcome))
        yield from self._undone(prefix, wrong)

    def _undone(
        self, prefix: str, wrong: Sequence[tuple[FileVersion, str, VersionOutcome]]
    ) -> Iterator[VersionOutcome]:
        """Removes the markers that were made where something else happened at the same moment."""
        markers = {file.path: {"VersionId": told} for file, told, _ in wrong if told}
        stay = {each.path: each.reason for each in self._deleted(prefix, markers) if _has_failed(each)}
        for file, told, outcome in wrong:
            if file.path not in stay:
                yield outcome
            else:
                more = f"remove the delete marker {told} by hand, for that failed: {stay[file.path]}"
                yield _failed(file, f"{outcome.reason}; {more}")

    def show(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes markers by their ids, in bulk, and looks at what is visible then."""
        meant: dict[str, tuple[FileVersion, str]] = {}
        markers: dict[str, Named] = {}
        for file, found in self._look(prefix, files):
            said = _failed(file, found) if isinstance(found, str) else to_show(found, file)
            if isinstance(said, VersionOutcome):
                yield said
            else:
                assert not isinstance(found, str)
                meant[file.path], markers[file.path] = (file, visible(found)), {"VersionId": said.version}
        failed = {each.path: each.reason for each in self._deleted(prefix, markers) if _has_failed(each)}
        yield from (_failed(meant[path][0], reason) for path, reason in failed.items())
        for file, after in self._look(prefix, [file for path, (file, _) in meant.items() if path not in failed]):
            yield _failed(file, after) if isinstance(after, str) else shown(after, file, meant[file.path][1])

    def purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes versions, and then the markers of those that are gone."""
        meant: dict[str, tuple[FileVersion, ToPurge]] = {}
        for file, found in self._look(prefix, files):
            said = _failed(file, found) if isinstance(found, str) else to_purge(found, file)
            if isinstance(said, VersionOutcome):
                yield said
            else:
                meant[file.path] = file, said
        failed = dict[str, str]()
        for name in ("version", "marker"):
            ids = {path: getattr(ids, name) for path, (_, ids) in meant.items() if path not in failed}
            named = {path: {"VersionId": id_} for path, id_ in ids.items() if id_}
            failed |= {each.path: each.reason for each in self._deleted(prefix, named) if _has_failed(each)}
        for path, (file, _) in meant.items():
            done = VersionOutcome(path=path, status=VersionStatus.DONE)
            yield done if path not in failed else _failed(file, failed[path])

    def delete_all(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes older versions, then what is current, then markers; each bulk deletion has one version of a key."""
        meant: dict[str, tuple[FileVersion, ToDelete]] = {}
        for file, found in self._look(prefix, files):
            said = _failed(file, found) if isinstance(found, str) else to_delete(found, file)
            if isinstance(said, VersionOutcome):
                yield said
            else:
                meant[file.path] = file, said
        failed = dict[str, str]()
        for part in (lambda ids: ids.older, lambda ids: (ids.current,), lambda ids: ids.markers):
            waiting = {path: list(part(ids)) for path, (_, ids) in meant.items()}
            while now := {path: ids.pop(0) for path, ids in waiting.items() if ids and path not in failed}:
                named = {path: {"VersionId": each.version} for path, each in now.items()}
                failed |= {each.path: each.reason for each in self._deleted(prefix, named) if _has_failed(each)}
        for path, (file, ids) in meant.items():
            yield ids.done(file) if path not in failed else _failed(file, failed[path])

    def _deleted(self, prefix: str, named: Mapping[str, Named]) -> Iterator[DeleteOutcome]:
        if named:
            yield from self.delete(prefix, [*named], named, {})

    def _look(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[_Looked]:
        parts = [files[start : start + _TOGETHER] for start in range(0, len(files), _TOGETHER)]
        with closing(side_by_side([partial(self._looked, prefix, part) for part in parts])) as answers:
            for answer in answers:
                yield from answer

    def _looked(self, prefix: str, files: Sequence[FileVersion], stopped: threading.Event) -> list[_Looked]:
        found: list[_Looked] = []
        for file in files:
            try:
                found.append((file, self._versions_of(prefix + file.path, stopped)))
            except (ClientError, BotoCoreError, NessieGcError, OSError, ValueError) as error:  # ValueError: an odd key
                found.append((file, said_of(error)))
        return found

    def _versions_of(self, key: str, stopped: threading.Event) -> list[KeyVersion]:
        """The versions of a key, newest first, then its markers; other keys begin with it as well."""
        pages = self.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=key)
        found = list[KeyVersion]()
        for page in each_asked(iter(pages), partial(self.slot, key, stopped)):
            rows = [(False, row) for row in page.get("Versions", ())]
            rows += [(True, row) for row in page.get("DeleteMarkers", ())]
            found.extend(_version(row, marker=marker) for marker, row in rows if row["Key"] == key)
            if self.in_key_order and any(row["Key"] != key for _, row in rows):
                break
        return sorted(found, key=lambda each: each.marker)


def _version(row: Mapping[str, Any], *, marker: bool) -> KeyVersion:
    return KeyVersion(
        version=str(row["VersionId"]),
        marker=marker,
        current=bool(row.get("IsLatest")),
        size=row.get("Size"),
        modified=row.get("LastModified"),
        etag=str(row.get("ETag", "")),
    )


def _has_failed(outcome: DeleteOutcome) -> bool:
    return outcome.status is DeleteStatus.FAILED


def _failed(file: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason=one_line(reason))
