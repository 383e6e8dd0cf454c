from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import quote, unquote

import pytest

from faulty import fault
from faulty.deleters import GoodDeleter
from nessie_gc_core.model import QUARANTINE_TAG, FileVersion, TaggedObject, VersionOutcome, VersionStatus
from nessie_gc_core.model import object_tags as rules
from nessie_gc_core.testing.file_deleter_tags import TaggingTests

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Bucket:
    """Objects with tags by their paths."""

    def __init__(self) -> None:
        self.objects: dict[str, TaggedObject] = {}
        self.number = 0

    def put(self, path: str, data: bytes) -> None:
        self.number += 1
        modified = _NOW + timedelta(seconds=self.number)
        self.objects[path] = TaggedObject(size=len(data), modified=modified, etag=data.hex(), tags={})

    def tag(self, path: str, tags: Mapping[str, str]) -> None:
        self.objects[path] = replace(self.objects[path], tags=dict(tags))


class Tags(GoodDeleter):
    """Tags files of a bucket in this process; each step is a method in which a faulty one can differ."""

    name = "tags"
    bucket: ClassVar[Bucket]

    def tag_refusal(self, location: str) -> str | None:
        return None

    def tag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            before = self.bucket.objects.get(path)
            said = self.to_tag(before, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            assert before is not None
            self.bucket.tag(path, said)
            yield rules.tagged(before, self.bucket.objects[path], file)

    def untag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            said = self.to_untag(self.bucket.objects.get(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            self.bucket.tag(path, said)
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def purge_tagged(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            said = self.to_purge(self.bucket.objects.get(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            del self.bucket.objects[path]
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def key(self, path: str) -> str:
        return path

    def to_tag(self, found, file):
        return rules.to_tag(found, file)

    def to_untag(self, found, file):
        return rules.to_untag(found, file)

    def to_purge(self, found, file):
        return rules.to_purge_tagged(found, file)


class TagsTests(TaggingTests):
    connector: type[Tags]
    opener = "open_deleter"

    @pytest.fixture
    def bucket(self):
        self.connector.bucket = Bucket()
        return self.connector.bucket

    @pytest.fixture
    def open_deleter(self, bucket):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def deleter(self, open_deleter):
        with open_deleter() as deleter:
            yield deleter

    @pytest.fixture
    def location(self):
        return "file:///bucket/t/"

    @pytest.fixture
    def put_file(self, bucket):
        return lambda location, path, data: bucket.put(location + path, data)

    @pytest.fixture
    def stored_paths(self, bucket):
        return lambda location: [path.removeprefix(location) for path in bucket.objects]

    @pytest.fixture
    def show_object(self, bucket):
        return lambda location, path: bucket.objects[location + path]

    @pytest.fixture
    def put_tags(self, bucket):
        return lambda location, path, tags: bucket.tag(location + path, tags)


class TestGood(TagsTests):
    connector = Tags


@fault(TagsTests, "test_s15_a_file_is_tagged_and_untagged", "S15, SupportsObjectTags: a tagged file stays")
class ReplacesAllTags(Tags):
    def to_tag(self, found, file):
        said = super().to_tag(found, file)
        return said if isinstance(said, VersionOutcome) else {QUARANTINE_TAG: file.marker}


@fault(TagsTests, "test_s15_a_tagged_file_is_purged", "S15, SupportsObjectTags: a purge deletes what has the tag")
class OnlySaysThatItPurges(Tags):
    def purge_tagged(self, location, files):
        yield from (VersionOutcome(path=file.path, status=VersionStatus.DONE) for file in files)


@fault(
    TagsTests,
    "test_s15_a_file_that_was_written_again_is_not_tagged",
    "S15, SupportsObjectTags: only what was listed is tagged",
)
class TagsWhateverIsThere(Tags):
    def to_tag(self, found, file):
        now = found and replace(file, size=found.size, modified=found.modified)
        return super().to_tag(found, now or file)


@fault(
    TagsTests, "test_s15_tagging_and_untagging_twice_does_no_harm", "S15, SupportsObjectTags: a killed call is repeated"
)
class TagsOnce(Tags):
    def to_tag(self, found, file):
        if found is not None and found.mark is not None:
            return VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason="it has a tag")
        return super().to_tag(found, file)


@fault(TagsTests, "test_s15_a_file_without_the_tag_is_not_purged", "S15, SupportsObjectTags: a file without this tag")
class PurgesWithoutTag(Tags):
    def to_purge(self, found, file):
        return super().to_purge(found and replace(found, tags={QUARANTINE_TAG: file.marker}), file)


@fault(
    TagsTests, "test_s15_another_file_with_the_tag_is_not_purged", "S15, SupportsObjectTags: a file that is not what"
)
class PurgesByTagAlone(Tags):
    def to_purge(self, found, file):
        return found if found is not None and found.mark == file.marker else super().to_purge(found, file)


@fault(TagsTests, "test_s15_a_file_with_all_its_tags_fails", "S15, SupportsObjectTags: all other tags stay")
class DropsATag(Tags):
    def to_tag(self, found, file):
        fewer = dict(list(found.tags.items())[:9]) if found is not None else {}
        return super().to_tag(found and replace(found, tags=fewer), file)


@fault(TagsTests, "test_s04_odd_keys_are_tagged_and_purged", "S4: keys are raw")
class Decodes(Tags):
    def key(self, path):
        return quote(unquote(path), safe="/:")


@fault(TagsTests, "test_more_than_one_batch_is_tagged", "SupportsObjectTags: no files, no outcomes; one call may get")
class OnlyOneBatch(Tags):
    def tag_files(self, location, files):
        yield from super().tag_files(location, files[: self.batch_size])
