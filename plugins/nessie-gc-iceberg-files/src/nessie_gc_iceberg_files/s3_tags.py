"""Files of an S3 bucket that are in quarantine with a tag: object by object, for S3 has no bulk request for tags."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.files import DeleteStatus
from nessie_gc_core.model.object_tags import QUARANTINE_TAG, TaggedObject, tagged, to_purge_tagged, to_tag, to_untag
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_iceberg_files.s3_deletions import DENIED, GONE
from nessie_gc_iceberg_files.s3_rights import said_of
from nessie_gc_iceberg_files.s3_versions import Delete, Slot
from nessie_gc_iceberg_files.side_by_side import side_by_side
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.traffic import asking

_TOGETHER = 25
"""So many files are tagged one after the other in a thread."""
_LOOKED_AT = 250
"""So many files are looked at before they are deleted: a tag that is removed in between keeps no file."""
_ABSENT = GONE | {"404"}
_RIGHTS = "grant s3:GetObjectTagging, s3:PutObjectTagging and s3:DeleteObjectTagging, or name a folder as `quarantine`"
_PROBE: Mapping[str, Any] = {"Tagging": {"TagSet": [{"Key": QUARANTINE_TAG, "Value": "probe"}]}}
_ERRORS = (ClientError, BotoCoreError, NessieGcError, OSError, ValueError)
"""What fails one file only; ValueError: a key that no request can carry."""
_One = Callable[[str, FileVersion, threading.Event], VersionOutcome]


@dataclass(frozen=True, slots=True)
class S3Tags:
    """The requests that tag, untag and purge in one bucket."""

    client: Any
    """Of boto3."""
    bucket: str
    slot: Slot
    delete: Delete

    def tag_refusal(self, prefix: str) -> str | None:
        """Reads, writes and removes the tags of an object that is not there: nothing changes.

        Not every server says in the same way that there is nothing to remove: only a refusal counts.
        """
        key, where = f"{prefix}.nessie-gc-no-such-object-{uuid.uuid4()}", f"s3://{self.bucket}/{prefix}"
        for verb, more in (("get", {}), ("put", _PROBE), ("delete", {})):
            try:
                with asking(), self.slot(key):
                    getattr(self.client, f"{verb}_object_tagging")(Bucket=self.bucket, Key=key, **more)
            except ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                if code == "NoSuchKey":
                    continue
                if code in DENIED:
                    return f"tags of objects in {where} are not allowed ({one_line(error)}); {_RIGHTS}"
                if verb == "delete":
                    return None
                return f"{where} does not keep tags of objects ({one_line(error)}); name a folder as `quarantine`"
            except (BotoCoreError, NessieGcError) as error:
                return f"whether {where} keeps tags of objects is unknown ({one_line(error)}); try again"
            if verb == "delete":
                return None
            return f"{where} says that an object that is not there has tags; name a folder as `quarantine`"
        return None

    def tag(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Looks at each file, puts all its tags with that of the quarantine, and looks again."""
        return self._each(self._tag, prefix, files)

    def untag(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Looks at each file, and puts its other tags."""
        return self._each(self._untag, prefix, files)

    def purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Looks at each file, and deletes in bulk those that may be deleted, on condition of their entity tags."""
        for start in range(0, len(files), _LOOKED_AT):
            yield from self._purge(prefix, files[start : start + _LOOKED_AT])

    def _purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        meant: dict[str, TaggedObject] = {}
        said = {each.path: each for each in self._each(partial(self._look_to_purge, meant), prefix, files)}
        yield from (outcome for path, outcome in said.items() if path not in meant)
        named = {path: {"ETag": found.etag} for path, found in meant.items()}
        for deleted in self.delete(prefix, [*named], named, {}) if named else ():
            failed = deleted.status is DeleteStatus.FAILED
            yield _failed(deleted.path, deleted.reason) if failed else said[deleted.path]

    def _look_to_purge(
        self, meant: dict[str, TaggedObject], prefix: str, file: FileVersion, stopped: threading.Event
    ) -> VersionOutcome:
        """What is said of a file when it is gone; or of one that stays."""
        found = to_purge_tagged(self._look(prefix + file.path, stopped), file)
        if isinstance(found, VersionOutcome):
            return found
        meant[file.path] = found
        return VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def _tag(self, prefix: str, file: FileVersion, stopped: threading.Event) -> VersionOutcome:
        key = prefix + file.path
        before = self._look(key, stopped)
        tags = to_tag(before, file)
        if isinstance(tags, VersionOutcome):
            return tags
        assert before is not None, "its outcome is MISSING"
        self._put(key, tags, stopped)
        after = self._look(key, stopped)
        outcome = tagged(before, after, file)
        if outcome.status is not VersionStatus.DONE and after is not None and after.mark == file.marker:
            try:
                self._put(key, after.unmarked(), stopped)
            except _ERRORS as error:
                more = f"remove the tag by hand, for that failed: {one_line(error)}"
                return _failed(file.path, f"{outcome.reason}; {more}")
        return outcome

    def _untag(self, prefix: str, file: FileVersion, stopped: threading.Event) -> VersionOutcome:
        key = prefix + file.path
        tags = to_untag(self._look(key, stopped), file)
        if isinstance(tags, VersionOutcome):
            return tags
        self._put(key, tags, stopped)
        return VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def _look(self, key: str, stopped: threading.Event) -> TaggedObject | None:
        """An object and its tags; if it is written again in between, the next look or a condition tells."""
        try:
            with asking(), self.slot(key, stopped):
                found = self.client.head_object(Bucket=self.bucket, Key=key)
            with asking(), self.slot(key, stopped):
                tags = self.client.get_object_tagging(Bucket=self.bucket, Key=key).get("TagSet", ())
        except ClientError as error:
            if str(error.response.get("Error", {}).get("Code", "")) in _ABSENT:
                return None
            raise
        return TaggedObject(
            size=found["ContentLength"],
            modified=found.get("LastModified"),
            etag=str(found.get("ETag", "")),
            tags={each["Key"]: each["Value"] for each in tags},
        )

    def _put(self, key: str, tags: Mapping[str, str], stopped: threading.Event) -> None:
        """Replaces all tags; not every server takes an empty set of them."""
        tagging = {"TagSet": [{"Key": name, "Value": value} for name, value in tags.items()]}
        with asking(), self.slot(key, stopped):
            if tags:
                self.client.put_object_tagging(Bucket=self.bucket, Key=key, Tagging=tagging)
            else:
                self.client.delete_object_tagging(Bucket=self.bucket, Key=key)

    def _each(self, one: _One, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        parts = [files[start : start + _TOGETHER] for start in range(0, len(files), _TOGETHER)]
        with closing(side_by_side([partial(_of_part, one, prefix, part) for part in parts])) as answers:
            for answer in answers:
                yield from answer


def _of_part(
    one: _One, prefix: str, files: Sequence[FileVersion], stopped: threading.Event
) -> Sequence[VersionOutcome]:
    said = list[VersionOutcome]()
    for file in files:
        try:
            said.append(one(prefix, file, stopped))
        except _ERRORS as error:
            said.append(_failed(file.path, said_of(error)))
    return said


def _failed(path: str, reason: str) -> VersionOutcome:
    return VersionOutcome(path=path, status=VersionStatus.FAILED, reason=one_line(reason))
