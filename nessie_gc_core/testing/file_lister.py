"""What every file lister must do (:class:`nessie_gc_core.connectors.FileLister`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from nessie_gc_core.connectors import FileLister
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import scheme_of
from nessie_gc_core.testing.credentials import ListerCredentialTests
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.file_lister_situations import ListerSituationTests, once, paths
from nessie_gc_core.testing.paths import PutFile


class FileListerContract(ListerSituationTests, ListerCredentialTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_lister``: a function that makes a lister of the store; it may be called several times.
        ``location``: a raw location in the store that ends in a slash, below which nothing is stored.
        ``put_file``: ``put_file(location, path, data)`` stores a file without the connector.

    Situations, also required; return ``NotPossible("why")`` if the situation cannot exist:
        ``unlistable``: ``unlistable(location)`` makes a location that cannot be listed to its end, and returns it: the
        given one or another. Ideally, part of it can be listed, such as a location that has a folder without
        permissions; a bucket that does not exist will do.
        ``put_link``: ``put_link(location, path, target)`` makes a link to the folder ``target``, which is
        a location too. Object stores have no links.
        ``put_directory``: ``put_directory(location, path)`` makes an empty directory, or the marker with which
        tools of the store represent one.

    Optional:
        ``has_times``: ``NotPossible("why")`` if the store keeps no modification times; its files are then
        never deleted. ``True`` unless overridden.
        ``has_clock``: ``NotPossible("why")`` if a lister with ``store_time`` cannot tell the time of this store.
        ``True`` unless overridden.
        ``odd_paths``: keys that the store can hold; ``ODD_PATHS`` of ``testing.paths`` unless overridden. Leave out
        those that your store cannot hold, and add ``OBJECT_STORE_PATHS`` if it can hold them.
        ``many``: a number of files that needs more than one page of a listing; 1,100 unless overridden.

    Set ``part_counts`` to request other numbers of parts from a lister that splits.
    """

    @demands(
        "The lister claims the scheme of its locations, in lower case: put it into the class attribute schemes, or "
        "into fallback_schemes if every other lister takes precedence."
    )
    def test_it_claims_the_scheme_of_its_locations(self, lister: FileLister, location: str) -> None:
        claimed = lister.schemes | lister.fallback_schemes
        assert scheme_of(location) in claimed
        assert {scheme.lower() for scheme in claimed} == claimed

    @demands(
        "A location that does not exist is empty: object stores have no folders, and tables without data have none "
        "either."
    )
    def test_a_location_that_holds_nothing_or_does_not_exist_is_empty(self, lister: FileLister, location: str) -> None:
        assert list(lister.list_files(location)) == []
        assert list(lister.list_files(location + "never/made/")) == []

    @demands(
        "S4: every file below the location is listed exactly once; its location is the requested one, its path the "
        "raw rest of the key."
    )
    def test_every_file_is_listed_once_with_the_asked_location(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        wanted = ["top", "data/a.parquet", "data/b.parquet", "data/deep/er/still/c.parquet", "metadata/v1.json"]
        _put_all(put_file, location, wanted)
        found = list(lister.list_files(location))
        assert once(wanted) == paths(found)
        assert {location} == {file.location for file in found}

    @demands("A size is the number of bytes of the file, or None if the store does not tell.")
    def test_sizes_are_bytes_or_unknown(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        for size in (0, 1, 1000):
            put_file(location, f"of-{size}", b"x" * size)
        for file in lister.list_files(location):
            assert file.size in (None, int(file.path.removeprefix("of-")))

    @demands("S4: keys come back raw, character by character. Do not decode, encode, strip or normalise them.")
    def test_odd_keys_come_back_raw(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        _put_all(put_file, location, odd_paths)
        assert once(odd_paths) == paths(lister.list_files(location))

    @demands(
        "S2 and S5: `t/` never lists what is in `t2/`. Keep the slash at the end of the location when you compare "
        "prefixes."
    )
    def test_a_neighbour_with_the_same_beginning_is_not_listed(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        for neighbour in ("t", "t2", "t.old", "t-1"):
            put_file(f"{location}{neighbour}/", "file", b"")
        assert once(["file"]) == paths(lister.list_files(location + "t/"))
        assert once(["t/file", "t2/file", "t.old/file", "t-1/file"]) == paths(lister.list_files(location))

    @demands("S4: a location is raw too. Do not parse it as a URL: `%20`, `#` and `?` are part of the key.")
    def test_a_location_with_odd_characters_is_listed(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        colon = ":" if any(":" in path for path in odd_paths) else ""  # HDFS has none in names
        odd = f"{location}a b%20c#d?e{colon}f/"
        put_file(odd, "sub dir/file.parquet", b"")
        assert [FileReference(location=odd, path="sub dir/file.parquet")] == [
            FileReference(location=file.location, path=file.path) for file in lister.list_files(odd)
        ]

    @demands("S6: a listing continues to its last page. Follow the token of every page.")
    def test_many_files_are_listed_to_the_end(
        self, lister: FileLister, location: str, put_file: PutFile, many: int
    ) -> None:
        wanted = [f"part={number % 10}/{number:06}.parquet" for number in range(many)]
        _put_all(put_file, location, wanted)
        assert once(wanted) == paths(lister.list_files(location))

    @demands("A listing is a stream that can be closed early: make list_files a generator.")
    def test_a_listing_is_a_stream_that_can_be_left(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        _put_all(put_file, location, ["a", "b", "c"])
        listing = lister.list_files(location)
        assert iter(listing) is listing
        next(listing)
        close = getattr(listing, "close", None)
        if close is not None:
            close()
        assert once(["a", "b", "c"]) == paths(lister.list_files(location))

    @demands("Two listers with the same options see the same files: whatever determines them belongs in the options.")
    def test_two_listers_of_the_same_options_see_the_same(
        self, open_lister: Callable[[], FileLister], location: str, put_file: PutFile
    ) -> None:
        _put_all(put_file, location, ["a", "b/c"])
        with open_lister() as one, open_lister() as other:
            assert paths(one.list_files(location)) == paths(other.list_files(location))

    @demands("A lister can be closed twice.")
    def test_closing_twice_does_no_harm(self, open_lister: Callable[[], FileLister], location: str) -> None:
        lister = open_lister()
        with closing(lister):
            list(lister.list_files(location))
        lister.close()


def _put_all(put_file: PutFile, location: str, paths: Iterable[str]) -> None:
    for path in paths:
        put_file(location, path, b"x")
