"""Versions in one GCS bucket: live generations made noncurrent, copied back to their names, and deleted by number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from fsspec.asyn import sync

from nessie_gc_core.model.versions import (
    FileVersion,
    VersionOutcome,
    VersionStatus,
    to_delete,
    to_hide,
    to_purge,
    to_show,
)
from nessie_gc_core.model.work import Traffic
from nessie_gc_iceberg_files.concurrency import gathered
from nessie_gc_iceberg_files.gcs_generations import (
    FIELDS,
    Generation,
    as_versions,
    copy_of,
    newest_first,
    own_of,
)
from nessie_gc_iceberg_files.gcs_lifecycle import warnings_of
from nessie_gc_iceberg_files.gcs_requests import Call, rewritten, safe
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.traffic import add, asking

_PAGE = 100
"""Of a listing of one key, which also has others that begin with it."""
_CHANGED = "it was written again since it was listed"
_GONE = "it was deleted at the same moment, by somebody else or by a request whose answer was lost"
_NOT_KEPT = "its bucket kept no noncurrent version of it; was versioning switched off, or a lifecycle rule at work?"
_NO_MORE = "its bucket kept no noncurrent version of another file, so it is not deleted"
_NOT_SHOWN = "the store made no new version of it"


class GcsVersions:
    """The requests that hide, show and purge in one bucket."""

    def __init__(self, bucket: str, file_system: Any) -> None:
        """Takes the file system of gcsfs, which has no types."""
        self._bucket = bucket
        self._name = f"gs://{bucket}/"
        self._fs = file_system

    # ---- what the bucket says of itself -------------------------------------------------------------------
    def hide_refusal(self) -> str | None:
        """Without versioning, what is deleted is gone, or softly deleted at best."""
        try:
            is_on = self._is_versioned()
        except Exception as error:  # noqa: BLE001 - gcsfs raises many kinds, and whatever it is, it is not known
            return f"whether {self._name} keeps versions is unknown ({_reason(error)}); name a folder as `quarantine`"
        return None if is_on else f"versioning of {self._name} is off; enable it, or name a folder as `quarantine`"

    def release_refusal(self) -> str | None:
        """Generations can be deleted whatever the bucket does with new ones; each says it where it is locked."""
        return None

    def version_refusal(self) -> str | None:
        """Only where it is known that there are versions."""
        try:
            return None if self._is_versioned() else "versioning is off"
        except Exception as error:  # noqa: BLE001 - gcsfs raises many kinds, and whatever it is, it is not known
            return f"the bucket does not say whether it keeps versions ({_reason(error)})"

    def hide_warnings(self, prefixes: Sequence[str], duration: timedelta) -> Sequence[str]:
        """What lifecycle rules do with noncurrent versions too early, and what a retention policy keeps."""
        try:
            said = self._bucket_says("lifecycle,retentionPolicy")
        except Exception as error:  # noqa: BLE001 - gcsfs raises many kinds, and whatever it is, it is not known
            unknown = f"the lifecycle rules of {self._name} are unknown"
            return (f"{unknown}: they may delete hidden files earlier ({_reason(error)})",)
        return warnings_of(said, self._bucket, prefixes, duration)

    def _is_versioned(self) -> bool:
        return bool((self._bucket_says("versioning").get("versioning") or {}).get("enabled"))

    def _bucket_says(self, fields: str) -> Mapping[str, Any]:
        with asking():
            said: Mapping[str, Any] = self._fs.call("GET", "b/{}", self._bucket, fields=fields, json_out=True)
        return said

    # ---- files --------------------------------------------------------------------------------------------
    def hide(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """A deletion on condition that the generation is live; then a look whether it is kept.

        Versioning may have been switched off since the run began. Then what is deleted is gone.
        """
        refusal = self.hide_refusal()
        if refusal is not None:
            yield from (_failed(file, refusal) for file in files)
            return
        yield from self._each(prefix, files, lambda requests: requests.hide)

    def show(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """A copy on condition that nothing is live; when it is there, the generation is deleted."""
        yield from self._each(prefix, files, lambda requests: requests.show)

    def purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """A deletion by number, which is never that of a live generation again."""
        yield from self._each(prefix, files, lambda requests: requests.purge)

    def delete_all(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletions by number: older generations, then the live one."""
        yield from self._each(prefix, files, lambda requests: requests.delete_all)

    def _each(
        self,
        prefix: str,
        files: Sequence[FileVersion],
        verb: Callable[[_Requests], Callable[[str, FileVersion], Awaitable[VersionOutcome]]],
    ) -> Sequence[VersionOutcome]:
        """Several at a time; whatever happens to one is its own failure."""
        requests = _Requests(self._bucket, self._fs._call)

        async def one(file: FileVersion) -> VersionOutcome:
            try:
                return await verb(requests)(safe(prefix + file.path), file)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
                return _failed(file, _reason(error))

        try:
            with asking(0):
                outcomes: Sequence[VersionOutcome] = sync(self._fs.loop, gathered, [one(file) for file in files])
        finally:
            add(Traffic(requests=requests.count, bytes_read=0, waited_seconds=0.0))
        return outcomes


class _Requests:
    """The requests for single files, counted; each may raise whatever gcsfs raises."""

    def __init__(self, bucket: str, call: Call) -> None:
        self._bucket = bucket
        self._call = call
        self._keeps_none = False
        self.count = 0

    async def hide(self, key: str, file: FileVersion) -> VersionOutcome:
        """Also where a newer file is written a moment later, the generation is hidden."""
        said = to_hide(*as_versions(await self._generations(key), file))
        if isinstance(said, VersionOutcome):
            return said
        if self._keeps_none:
            return _failed(file, _NO_MORE)
        try:
            await self._delete(key, ifGenerationMatch=said.version)
        except FileExistsError:
            return _failed(file, _CHANGED)
        except FileNotFoundError:
            return _failed(file, _GONE)
        kept = next((each for each in await self._generations(key) if each.number == said.version), None)
        if kept is None or kept.is_live:
            self._keeps_none = True  # what has not been sent yet is not sent
            return _failed(file, _NOT_KEPT)
        return VersionOutcome(path=file.path, status=VersionStatus.DONE, version=kept.number, marker=kept.marker)

    async def show(self, key: str, file: FileVersion) -> VersionOutcome:
        """A copy that is there already is not made again; what it was made of is deleted last."""
        found = await self._generations(key)
        copy = copy_of(found, file)
        if copy is not None and own_of(found, file) is None and not file.marker:  # its bytes are not known any more
            return VersionOutcome(path=file.path, status=VersionStatus.EXISTS)
        said = to_show(*as_versions(found, file, copy=copy))
        if not isinstance(said, VersionOutcome):
            hidden = found[0]
            file = replace(file, version=hidden.number, marker=hidden.marker)
            try:
                source = {"sourceGeneration": hidden.number, "ifSourceGenerationMatch": hidden.number}
                self.count += await rewritten(self._call, self._bucket, key, key, **source)
            except (FileExistsError, FileNotFoundError):  # something else has happened: the look after tells what
                self.count += 1
            found = await self._generations(key)
            said = to_show(*as_versions(found, file, copy=copy_of(found, file)))
        if not isinstance(said, VersionOutcome):
            return _failed(file, _NOT_SHOWN)
        return await self._without_original(key, found, file) if said.status is VersionStatus.DONE else said

    async def _without_original(self, key: str, found: Sequence[Generation], file: FileVersion) -> VersionOutcome:
        """Deletes the generation that a live copy was made of."""
        original = own_of(found, file)
        if original is not None and not original.is_live:
            try:
                await self._delete_generation(key, original.number)
            except Exception as error:  # noqa: BLE001 - whatever it is, it stays
                visible = f"it is visible again, but its noncurrent version {original.number} could not be deleted"
                return _failed(file, f"{visible}: {_reason(error)}")
        return VersionOutcome(path=file.path, status=VersionStatus.DONE)

    async def purge(self, key: str, file: FileVersion) -> VersionOutcome:
        """Exactly the generation; a copy of it only counts where it is gone."""
        found = await self._generations(key)
        copy = copy_of(found, file) if own_of(found, file) is None else None
        said = to_purge(*as_versions(found, file, copy=copy))
        if isinstance(said, VersionOutcome):
            return said
        if said.version:
            await self._delete_generation(key, said.version)
        return VersionOutcome(path=file.path, status=VersionStatus.DONE)

    async def delete_all(self, key: str, file: FileVersion) -> VersionOutcome:
        """One after the other: what is live goes last."""
        said = to_delete(*as_versions(await self._generations(key), file))
        if isinstance(said, VersionOutcome):
            return said
        for each in (*said.older, said.current):
            await self._delete_generation(key, each.version)
        return said.done(file)

    async def _generations(self, key: str) -> list[Generation]:
        """The generations of a key, newest first; the names of a listing are in order, and the key is the first one."""
        found, token = list[Generation](), None
        while True:
            self.count += 1
            page: Mapping[str, Any] = await self._call(
                "GET",
                "b/{}/o",
                self._bucket,
                prefix=key,
                versions="true",
                pageToken=token,
                maxResults=_PAGE,
                fields=f"nextPageToken,items({FIELDS})",
                json_out=True,
            )
            items: Sequence[Mapping[str, Any]] = page.get("items", ())
            found.extend(Generation.of(item) for item in items if item["name"] == key)
            token = page.get("nextPageToken")
            if not token or any(item["name"] != key for item in items):
                return newest_first(found)

    async def _delete_generation(self, key: str, number: str) -> None:
        try:
            await self._delete(key, generation=number)
        except FileNotFoundError:
            return  # it is gone, as it should be

    async def _delete(self, key: str, **named: str) -> None:
        self.count += 1
        await self._call("DELETE", "b/{}/o/{}", self._bucket, key, **named)


def _reason(error: Exception) -> str:
    return one_line(error) or type(error).__name__


def _failed(file: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason=one_line(reason))
