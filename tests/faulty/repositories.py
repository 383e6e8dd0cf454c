from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
import test_repository as example
from nessie_gc_ledger import LedgerRepository

from faulty import fault
from nessie_gc_core.errors import (
    CommitConflictError,
    ConfigurationError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
)
from nessie_gc_core.model import (
    ContentVersion,
    CredentialPlace,
    CredentialUse,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
    RefType,
    Snapshot,
    SnapshotRef,
    StorageCredential,
    TableMetadata,
)


class GoodRepository(LedgerRepository):
    """The example's; of tables that it reads it takes the states from their files."""

    name = "good"

    def commit_log(self, reference):
        self.read_tables()
        return super().commit_log(reference)

    def read_tables(self):
        for path in (self._folder / "tables").glob("*"):
            if path.read_text() != "whole":
                raise RepositoryError(f"the table {path} cannot be read")


class GoodExpiry(GoodRepository):
    """Of each reference there is one table, whose metadata is kept in memory."""

    def __init__(self, options):
        super().__init__(options)
        self.now = {}

    def tables(self, reference):
        yield self.now.setdefault(reference.name, table(reference.name))

    def reload(self, table):
        return self.now[table.reference]

    def with_unused(self, table, removal):
        return removal

    def remove_snapshots(self, table, removal):
        now = self.now[table.reference]
        if table.refs != now.refs:
            raise CommitConflictError("a branch moved")
        left = tuple(each for each in now.snapshots if each.snapshot_id not in removal.snapshot_ids)
        log = (*now.metadata_log, now.metadata_location)
        self.now[table.reference] = replace(now, snapshots=left, metadata_log=log, metadata_location=f"m{len(log)}")


class GoodTableTags(GoodExpiry):
    def change_tags(self, table, *, made, deleted):
        now = self.now[table.reference]
        self.check(table, now, made, deleted)
        refs = {name: ref for name, ref in now.refs.items() if name not in deleted}
        refs.update({name: SnapshotRef(snapshot_id=at, type=RefType.TAG) for name, at in made.items()})
        log = (*now.metadata_log, now.metadata_location)
        self.now[table.reference] = replace(now, refs=refs, metadata_log=log, metadata_location=f"m{len(log)}")

    def check(self, table, now, made, deleted):
        elsewhere = any(name not in now.refs or now.refs[name].snapshot_id != at for name, at in deleted.items())
        if now.metadata_location != table.metadata_location or set(made) & set(now.refs) or elsewhere:
            raise CommitConflictError("it is not as it was read")


class GoodTags(GoodRepository):
    """Makes tags, which it keeps in memory."""

    def __init__(self, options):
        super().__init__(options)
        self.tags = {}

    def references(self):
        yield from super().references()
        yield from self.tags.values()

    def make_tag(self, name, at):
        if any(each.name == name for each in self.references()):
            return False
        self.check(at)
        self.tags[name] = Reference(name=name, kind=ReferenceKind.TAG, commit_id=at.commit_id)
        return True

    def check(self, at):
        next(self.commit_log(at))

    def delete_tag(self, tag):
        if self.tags.get(tag.name) != tag:
            return False
        del self.tags[tag.name]
        return True


class GoodCommits(GoodRepository):
    """Takes commits, which it keeps in memory."""

    def __init__(self, options):
        super().__init__(options)
        self.made = {}
        self.heads = {}

    def references(self):
        for each in super().references():
            yield replace(each, commit_id=self.heads.get(each.name, each.commit_id))

    def commit_log(self, reference):
        while reference.commit_id in self.made:
            entry, _ = self.made[reference.commit_id]
            yield entry
            reference = replace(reference, commit_id=entry.parent_id)
        yield from super().commit_log(reference)

    def contents(self, reference):
        if reference.commit_id in self.made:
            return iter(self.made[reference.commit_id][1])
        return super().contents(reference)

    def commit_metadata(self, branch, changes, *, message):
        if branch.kind is ReferenceKind.TAG:
            raise ConfigurationError("it is a tag")
        now = self.now(branch)
        if now.commit_id != branch.commit_id:
            raise CommitConflictError("a table has changed")
        changed = {version.content_id: self.changed(version, path) for version, path in changes}
        visible = [changed.get(each.content_id, each) for each in self.contents(now)]
        puts = tuple(Operation(kind=OperationKind.PUT, content_key=each.content_key, content=each) for each in visible)
        made = {"commit_id": f"k{len(self.made)}", "parent_id": now.commit_id, "commit_time": datetime.now(UTC)}
        self.made[made["commit_id"]] = (LogEntry(**made, operations=puts), visible)
        self.heads[branch.name] = made["commit_id"]

    def now(self, branch):
        return next(each for each in self.references() if each.name == branch.name)

    def changed(self, version, path):
        return replace(version, metadata_location=path)


class GoodWorkBranches(GoodCommits):
    """Copies branches and merges them, in memory; what a branch was made from is remembered."""

    def __init__(self, options):
        super().__init__(options)
        self.copies = {}

    def references(self):
        yield from super().references()
        for name in self.copies:
            yield Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=self.heads[name])

    def copy_branch(self, name, source):
        if any(each.name == name for each in self.references()):
            return False
        self.copies[name], self.heads[name] = source.commit_id, source.commit_id
        return True

    def merge_branch(self, source, into, *, message):
        now = self.now(into)
        before = {each.content_id: each for each in self.contents(into)}
        changed = [each for each in self.contents(source) if before[each.content_id] != each]
        self.check(now, into, changed)
        self.commit_metadata(now, [(each, each.metadata_location) for each in changed], message=message)

    def check(self, now, into, changed):
        if now.commit_id != into.commit_id:
            raise CommitConflictError("both changed it")

    def drop_branch(self, branch):
        if self.heads.get(branch.name) != branch.commit_id or branch.name not in self.copies:
            return False
        del self.copies[branch.name], self.heads[branch.name]
        return True


def table(name):
    snapshots = tuple(Snapshot(snapshot_id=i, parent_id=i - 1 or None, timestamp_ms=i) for i in (1, 2, 3))
    main = SnapshotRef(snapshot_id=3, type=RefType.BRANCH)
    named = {"reference": name, "commit_id": "c", "content_key": name, "content_id": name, "location": "file:///t"}
    return TableMetadata(**named, metadata_location="m0", snapshots=snapshots, refs={"main": main})


class GoodCredentials(GoodRepository):
    """Gives credentials for its references, as if they were contents."""

    def credential_uses(self):
        return frozenset({CredentialUse.READ})

    def credential_places(self):
        return (CredentialPlace(location=f"s3://lake/{each.name}/", owner=each.name) for each in self.references())

    def storage_credentials(self, owner):
        found = [each for each in self.references() if each.name == owner]
        return [StorageCredential(prefix="s3", properties={"s3.region": "eu"}) for _ in found]


class RepositoryTests(example.TestLedgerRepository):
    connector = GoodRepository

    @pytest.fixture
    def break_table(self, ledger):
        def damage():
            (ledger.folder / "tables").mkdir()
            (ledger.folder / "tables" / "main").write_text("cut off")
            return "main"

        return [damage]

    @pytest.fixture
    def secrets(self):
        return ["s3cret-word"]

    @pytest.fixture
    def expirable(self):
        return "main"

    @pytest.fixture
    def committable(self):
        return "main"


class TestGoodCommits(RepositoryTests):
    connector = GoodCommits


class TestGoodWorkBranches(RepositoryTests):
    connector = GoodWorkBranches


class TestGood(RepositoryTests):
    pass


class TestGoodCredentials(RepositoryTests):
    connector = GoodCredentials


class TestGoodExpiry(RepositoryTests):
    connector = GoodExpiry


class TestGoodTableTags(RepositoryTests):
    connector = GoodTableTags


class TestGoodTags(RepositoryTests):
    connector = GoodTags


class Swallowing(GoodRepository):
    """A connector for which some errors are the end of the answer."""

    swallowed: type[NessieGcError]

    def references(self):
        try:
            yield from super().references()
        except self.swallowed:
            return

    def commit_log(self, reference):
        try:
            yield from super().commit_log(reference)
        except self.swallowed:
            return


DOWN = "test_s06_a_repository_that_is_down_is_an_error_and_not_empty"
MISSING = "test_s06_a_repository_that_does_not_exist_is_an_error_and_not_empty"
NONSENSE = "test_s06_an_answer_that_makes_no_sense_is_an_error_and_not_empty"
CHAIN = "test_a_log_is_a_chain_of_first_parents_from_the_head_to_the_first_commit"
INCOHERENT = "test_s34_an_answer_that_lacks_or_repeats_something_is_an_error_or_unknown"
REFERENCES = "test_every_reference_comes_once_with_its_kind"
CONTENTS = "test_contents_at_every_commit_are_what_the_operations_put_there"


@fault(RepositoryTests, DOWN, "S6: a repository that is down never counts as one without references")
class DownIsEmpty(Swallowing):
    swallowed = ServiceUnavailableError


@fault(RepositoryTests, DOWN, "S6: a repository that is down never counts as one without references")
class DownIsABareError(GoodRepository):
    def references(self):
        try:
            yield from super().references()
        except ServiceUnavailableError as error:
            raise OSError(str(error)) from error


@fault(RepositoryTests, MISSING, "S6: a repository that does not exist never counts as one without references")
class MissingIsEmpty(GoodRepository):
    def references(self):
        if (self._folder / "references").is_dir():
            yield from super().references()


@fault(RepositoryTests, MISSING, "S6: a repository that does not exist never counts as one without references")
class MissingIsMade(GoodRepository):
    def references(self):
        found = (self._folder / "references").is_dir()
        (self._folder / "references").mkdir(parents=True, exist_ok=True)
        if not found:
            raise RepositoryError("it was not there")
        yield from super().references()


@fault(RepositoryTests, NONSENSE, "S6: an invalid answer never counts as an empty one")
class NonsenseIsEmpty(Swallowing):
    swallowed = RepositoryError


@fault(RepositoryTests, NONSENSE, "S6: an invalid answer never counts as an empty one")
class LinesOfErrors(GoodRepository):
    def references(self):
        try:
            yield from super().references()
        except RepositoryError as error:
            raise RepositoryError(f"{error}\nand so on") from error


@fault(RepositoryTests, NONSENSE, "S6: an invalid answer never counts as an empty one")
class ErrorsThatShowSecrets(GoodRepository):
    def references(self):
        try:
            yield from super().references()
        except RepositoryError as error:
            raise RepositoryError(f"{error} (with s3cret-word)") from error


@fault(
    RepositoryTests,
    "test_s06_an_answer_that_breaks_off_is_an_error_and_not_the_end",
    "S6: references, a log or contents that break off are never complete",
)
class BreakingOffIsTheEnd(GoodRepository):
    def commit_log(self, reference):
        for number, entry in enumerate(super().commit_log(reference)):
            yield entry
            if not Path(self._folder / "commits" / f"{entry.parent_id}.json").exists():
                assert number >= 0
                return


@fault(RepositoryTests, INCOHERENT, "S34: an answer in which something is missing, null, doubled or out of order never")
class HeadlessIsEmpty(GoodRepository):
    def references(self):
        heads = {}
        for path in (self._folder / "references").glob("*.json"):
            found = json.loads(path.read_text())
            heads[found["name"]] = found.pop("head", None)
            path.write_text(json.dumps({**found, "head": heads[found["name"]]}))
        yield from super().references()


@fault(RepositoryTests, INCOHERENT, "S34: an answer in which something is missing, null, doubled or out of order never")
class GoesInCircles(GoodRepository):
    def commit_log(self, reference):
        while reference.commit_id is not None:
            entry = next(super().commit_log(reference))
            yield entry
            reference = replace(reference, commit_id=entry.parent_id)


@fault(RepositoryTests, INCOHERENT, "S34: an answer in which something is missing, null, doubled or out of order never")
class CirclesAreTheEnd(GoodRepository):
    def commit_log(self, reference):
        try:
            yield from super().commit_log(reference)
        except RepositoryError as error:
            if "its own ancestor" not in str(error):
                raise


@fault(
    RepositoryTests,
    "test_s06_a_table_that_cannot_be_read_is_never_one_without_states",
    "S6: a table whose metadata is missing or unreadable never counts as one without states",
)
class UnreadableTablesHaveNoStates(GoodRepository):
    def commit_log(self, reference):
        try:
            self.read_tables()
        except RepositoryError:
            return
        yield from super().commit_log(reference)


@fault(
    RepositoryTests,
    "test_s06_a_table_that_cannot_be_read_is_never_one_without_states",
    "S6: a table whose metadata is missing or unreadable never counts as one without states",
)
class UnreadableTablesAreLeftOut(GoodRepository):
    def references(self):
        for reference in super().references():
            if not (self._folder / "tables" / reference.name).exists():
                yield reference

    def read_tables(self):
        pass


@fault(RepositoryTests, REFERENCES, "S6: every branch and tag comes, exactly once")
class OnlyThePageOne(GoodRepository):
    def references(self):
        yield from islice(super().references(), 2)


@fault(RepositoryTests, REFERENCES, "S6: every branch and tag comes, exactly once")
class ReferencesTwice(GoodRepository):
    def references(self):
        for reference in super().references():
            yield from (reference, reference)


@fault(RepositoryTests, "test_a_new_commit_moves_the_head", "S9: references are read anew each time")
class RemembersHeads(GoodRepository):
    remembered = None

    def references(self):
        if self.remembered is None:
            self.remembered = list(super().references())
        yield from self.remembered


@fault(RepositoryTests, CHAIN, "S6: a log goes from the head to the first commit without a gap")
class CutLogs(GoodRepository):
    def commit_log(self, reference):
        yield from islice(super().commit_log(reference), 10)


@fault(RepositoryTests, CHAIN, "S6: a log goes from the head to the first commit without a gap")
class OldestFirst(GoodRepository):
    def commit_log(self, reference):
        yield from reversed(list(super().commit_log(reference)))


@fault(RepositoryTests, "test_commit_times_are_aware_utc", "S17: commit times are aware and in UTC")
class NaiveTimes(GoodRepository):
    def commit_log(self, reference):
        for entry in super().commit_log(reference):
            yield replace(entry, commit_time=entry.commit_time.replace(tzinfo=None))


@fault(
    RepositoryTests,
    "test_only_puts_have_contents_and_their_time_is_that_of_the_commit",
    "Only a PUT has a content",
)
class OtherTimesInContents(GoodRepository):
    def commit_log(self, reference):
        for entry in super().commit_log(reference):
            operations = tuple(
                replace(each, content=replace(each.content, commit_time=entry.commit_time + timedelta(hours=1)))
                if each.kind is OperationKind.PUT
                else each
                for each in entry.operations
            )
            yield replace(entry, operations=operations)


@fault(RepositoryTests, "test_the_log_of_an_older_commit_is_the_rest_of_the_log", "The log begins at reference.commit")
class AlwaysTheHead(GoodRepository):
    def commit_log(self, reference):
        heads = {each.name: each for each in self.references()}
        return super().commit_log(heads.get(reference.name, reference))


@fault(RepositoryTests, "test_a_log_is_a_stream_that_can_be_left", "A log is a stream that can be closed early")
class LogsAreLists(GoodRepository):
    def commit_log(self, reference):
        return list(super().commit_log(reference))


@fault(RepositoryTests, "test_a_commit_that_does_not_exist_is_an_error", "S6: a commit that does not exist never")
class MissingCommitsAreEmpty(Swallowing):
    swallowed = ReferenceNotFoundError


@fault(
    RepositoryTests,
    "test_a_reference_without_a_commit_has_an_empty_log_and_no_contents",
    "A reference without a commit has an empty log",
)
class NoCommitIsAnError(GoodRepository):
    def commit_log(self, reference):
        if reference.commit_id is None:
            raise ReferenceNotFoundError("it has no commit")
        return super().commit_log(reference)


@fault(RepositoryTests, CONTENTS, "S6: contents at a commit are all that its history put there")
class DropsAreForgotten(GoodRepository):
    def contents(self, reference):
        newest: dict[str, ContentVersion] = {}
        for entry in super().commit_log(reference):
            for operation in entry.operations:
                if operation.content is not None:
                    newest.setdefault(operation.content_key, operation.content)
        yield from newest.values()


@fault(RepositoryTests, CONTENTS, "S6: contents at a commit are all that its history put there")
class OneKeyIsLeftOut(GoodRepository):
    def contents(self, reference):
        yield from islice(super().contents(reference), 1)


@fault(
    RepositoryTests,
    "test_its_identity_is_always_the_same_and_holds_no_secret",
    "S15 and S28: the identity is unique to the repository",
)
class IdentityOfTheObject(GoodRepository):
    def identity(self):
        return f"ledger:{id(self)}"


@fault(
    RepositoryTests,
    "test_its_identity_is_always_the_same_and_holds_no_secret",
    "S15 and S28: the identity is unique to the repository",
)
class IdentityWithASecret(GoodRepository):
    def identity(self):
        return f"ledger:s3cret-word@{self._folder.resolve()}"


@fault(RepositoryTests, "test_its_identity_is_the_same_by_every_address", "S15: one repository has one identity")
class IdentityByAddress(GoodRepository):
    def identity(self):
        return f"ledger:{self._folder}"


@fault(RepositoryTests, "test_threads_read_the_same_as_one", "A connector is used from several threads at once")
class SharedCursor(GoodRepository):
    seen: Counter[str]

    def __init__(self, options):
        super().__init__(options)
        self.seen = Counter()

    def commit_log(self, reference):
        self.seen[reference.name] += 1
        return super().commit_log(reference) if self.seen[reference.name] < 3 else iter(())


@fault(RepositoryTests, "test_its_former_identities_are_others_and_hold_no_secret", "SupportsFormerIdentities: former")
class PresentAmongTheFormer(GoodRepository):
    def former_identities(self):
        return [self.identity()]


@fault(
    RepositoryTests,
    "test_the_default_reference_is_one_of_the_branches",
    "SupportsDefaultReference: the default branch is one of the references",
)
class DefaultIsATag(GoodRepository):
    def default_reference(self):
        return next(each.name for each in self.references() if each.kind is ReferenceKind.TAG)


@fault(RepositoryTests, "test_the_shared_clock_is_aware_utc_or_not_known", "S8: the clock of the repository")
class NaiveClock(GoodRepository):
    def shared_time(self):
        return next(super().commit_log(next(iter(self.references())))).commit_time.replace(tzinfo=None)


@fault(RepositoryTests, "test_an_unknown_option_is_refused_by_name", "S27: an unknown option is refused")
class IgnoresUnknownOptions(GoodRepository):
    @classmethod
    def from_options(cls, values):
        return cls(cls.Options.from_mapping({name: value for name, value in values.items() if name == "folder"}))


@fault(RepositoryTests, "test_what_is_taken_out_is_not_listed_any_more", "SupportsSnapshotExpiry: a commit removes")
class ExpiresMore(GoodExpiry):
    def remove_snapshots(self, table, removal):
        older = frozenset(range(1, max(removal.snapshot_ids) + 2))
        super().remove_snapshots(table, replace(removal, snapshot_ids=older))


@fault(RepositoryTests, "test_nothing_is_taken_out_of_a_table_that_moved_on", "SupportsSnapshotExpiry: if a branch or")
class ExpiresWhatMoved(GoodExpiry):
    def remove_snapshots(self, table, removal):
        super().remove_snapshots(self.now[table.reference], removal)


CHANGES_METADATA = "test_a_commit_changes_the_metadata_file_and_nothing_else"


@fault(RepositoryTests, CHANGES_METADATA, "SupportsMetadataCommits: a commit gives the named tables new metadata")
class CommitsAnotherSnapshot(GoodCommits):
    def changed(self, version, path):
        return replace(super().changed(version, path), snapshot_id=-1)


@fault(RepositoryTests, CHANGES_METADATA, "SupportsMetadataCommits: a commit gives the named tables new metadata")
class CommitsToAllReferences(GoodCommits):
    def commit_metadata(self, branch, changes, *, message):
        super().commit_metadata(branch, changes, message=message)
        self.heads.update({each.name: self.heads[branch.name] for each in self.references()})


@fault(
    RepositoryTests,
    "test_a_table_that_has_changed_since_is_a_conflict",
    "SupportsMetadataCommits: if a table has changed since it was read, raise CommitConflictError and commit nothing",
)
class CommitsOverOthers(GoodCommits):
    def commit_metadata(self, branch, changes, *, message):
        super().commit_metadata(replace(self.now(branch), kind=branch.kind), changes, message=message)


@fault(RepositoryTests, "test_nothing_is_committed_to_a_tag", "SupportsMetadataCommits: nothing is committed to a tag")
class CommitsToTags(GoodCommits):
    def commit_metadata(self, branch, changes, *, message):
        super().commit_metadata(replace(branch, kind=ReferenceKind.BRANCH), changes, message=message)


@fault(
    RepositoryTests,
    "test_a_tag_is_made_at_an_earlier_commit_and_nothing_else_changes",
    "SupportsTags: a tag can be created at any commit of a branch, and nothing else changes",
)
class TagsTheHead(GoodTags):
    def make_tag(self, name, at):
        return super().make_tag(name, next(each for each in self.references() if each.name == at.name))


@fault(RepositoryTests, "test_a_name_that_is_taken_is_left_to_whoever_has_it", "SupportsTags: the name of an existing")
class MovesTags(GoodTags):
    def make_tag(self, name, at):
        self.tags.pop(name, None)
        return super().make_tag(name, at)


@fault(
    RepositoryTests,
    "test_a_tag_that_is_elsewhere_a_branch_or_gone_is_not_deleted",
    "SupportsTags: a tag is deleted only if it is at the given commit",
)
class DeletesByName(GoodTags):
    def delete_tag(self, tag):
        return self.tags.pop(tag.name, None) is not None


@fault(RepositoryTests, "test_a_commit_that_does_not_exist_is_not_tagged", "SupportsTags: a commit that does not exist")
class TagsNothing(GoodTags):
    def check(self, at):
        pass


@fault(
    RepositoryTests,
    "test_tags_of_a_table_are_made_and_deleted_and_nothing_else_changes",
    "SupportsTableTags: one commit creates some tags and deletes others, and changes nothing else",
)
class ForgetsToDelete(GoodTableTags):
    def change_tags(self, table, *, made, deleted):
        super().change_tags(table, made=made, deleted={})


@fault(
    RepositoryTests,
    "test_tags_of_a_table_that_is_not_as_it_was_read_are_a_conflict",
    "SupportsTableTags: if the table or a tag has changed since it was read, raise CommitConflictError",
)
class TagsWhatMoved(GoodTableTags):
    def check(self, table, now, made, deleted):
        if now.metadata_location != table.metadata_location:
            raise CommitConflictError("it is not as it was read")


@fault(
    RepositoryTests,
    "test_what_was_committed_to_a_copy_of_a_branch_is_merged_back",
    "SupportsWorkBranches: a branch is created from another one, merged back, and deleted, each only on its condition",
)
class DropsBranchesByName(GoodWorkBranches):
    def drop_branch(self, branch):
        return super().drop_branch(replace(branch, commit_id=self.heads[branch.name]))


@fault(
    RepositoryTests,
    "test_a_content_that_changed_on_both_branches_is_not_merged",
    "SupportsWorkBranches: if both branches changed a content, raise CommitConflictError and merge nothing",
)
class MergesOverOthers(GoodWorkBranches):
    def check(self, now, into, changed):
        pass


@fault(
    RepositoryTests,
    "test_a_content_that_does_not_exist_has_no_credentials",
    "SupportsStorageCredentials: a content that does not exist has no credentials: return none",
)
class GivesCredentialsToAnyone(GoodCredentials):
    def storage_credentials(self, owner):
        return [StorageCredential(prefix="s3", properties={"s3.region": "eu"})]


@fault(
    RepositoryTests,
    "test_a_content_that_does_not_exist_has_no_credentials",
    "SupportsStorageCredentials: a content that does not exist has no credentials: return none",
)
class FailsForNobody(GoodCredentials):
    def storage_credentials(self, owner):
        if owner not in {each.name for each in self.references()}:
            raise RepositoryError(f"there is no {owner}")
        return super().storage_credentials(owner)
