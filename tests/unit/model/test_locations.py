from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules, depth, outermost, places_in, scheme_of, with_slash

RULES = LocationRules()
keys = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
schemes = st.sampled_from(["s3", "s3a", "S3N", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "file"])
authorities = st.sampled_from(["bucket", "c@account.dfs.core.windows.net", "nn:8020", ""])


@st.composite
def paths(draw: st.DrawFn) -> str:
    scheme = draw(schemes)
    authority = "" if scheme == "file" else draw(authorities)
    return f"{scheme}://{authority}/{draw(keys)}"


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("s3://b/k", "s3://b/k"),
        ("s3a://b/k", "s3://b/k"),
        ("S3N://b/k", "s3://b/k"),
        ("s3://b//k", "s3://b/k"),
        ("s3://b/./a/.//k/", "s3://b/a/k/"),
        ("s3://b/.hidden/..k/...", "s3://b/.hidden/..k/..."),
        ("s3://b/a\\k", "s3://b/a\\k"),
        ("abfs://c/a\\k", "abfs://c/a/k"),
        ("s3://b/a/../k", "s3://b/a/../k"),
        ("s3://b/%41 +#?", "s3://b/%41 +#?"),
        ("s3://b", "s3://b/"),
        ("gcs://b/k", "gs://b/k"),
        ("abfss://c@one.dfs.core.windows.net/k", "abfs://c/k"),
        ("wasb://c@one.blob.core.windows.net/k", "abfs://c/k"),
        ("abfs://c/k", "abfs://c/k"),
        ("s3a://KEY:SECRET@b/k", "s3://b/k"),
        ("s3://KEY@b/k@x:1", "s3://b/k@x:1"),
        ("s3://KEY:@b:443/k", "s3://b/k"),
        ("S3A://b:80/k", "s3://b/k"),
        ("gs://b:/k", "gs://b/k"),
        ("tosfs://me:secret@b/k", "tos://b/k"),
        ("abfss://c@one.dfs.core.windows.net:443/k", "abfs://c/k"),
        ("abfss://me:secret@c@one.dfs.core.windows.net/k", "abfs://c/k"),
        ("ocilake://me:secret@bucket@tenancy/k", "oci://bucket@tenancy/k"),
        ("sftp://me:secret@files/k", "sftp:///k"),
        ("hdfs://me@nn/k", "hdfs:///k"),
        ("hdfs://nn:8020/k", "hdfs:///k"),
        ("hdfs:///k", "hdfs:///k"),
        ("webhdfs://nn:9870/k", "hdfs:///k"),
        ("sftp://me@files:22/k", "sftp:///k"),
        ("ssh://FILES/k", "sftp:///k"),
        ("sftp:///k", "sftp:///k"),
        ("ocilake://bucket@tenancy/k", "oci://bucket@tenancy/k"),
        ("hdfs://nn/a//b/./c", "hdfs:///a/b/c"),
        ("/a/b", "file:///a/b"),
        ("file:/a/b", "file:///a/b"),
        ("file:///a//b/", "file:///a/b/"),
        ("file://localhost/a", "file:///a"),
        ("FILE:/a/./b", "file:///a/b"),
        ("file:/a/.hidden/..b", "file:///a/.hidden/..b"),
    ],
)
def test_each_spelling_has_one_canonical_form(raw: str, canonical: str) -> None:
    assert canonical == RULES.canonical(raw)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("warp://b/k", "`scheme_alias` warp=SCHEME"),
        ("a/b", "is not absolute"),
        ("", "is not absolute"),
        ("s3:b/k", "no authority"),
        ("file:a/b", "relative"),
        ("s3:///b/k", "no authority"),
        ("abfss:///wh/t", "no authority"),
        ("file://host/a", "names a host"),
        ("s3://b:9000/k", "names a port"),
        ("s3://arn:aws:s3:eu-west-1:1:accesspoint/k", "names a port or host"),
        ("s3a://KEY:SECRET@:443/k", "no authority"),
        ("s3a://KEY:SEC/RET@b/k", "a password with a slash"),
        ("s3://b:9000/k@x", "a password with a slash"),
        ("abfss://one.dfs.core.windows.net/c/k", "an account without a container"),
        ("abfs://me:secret@one.dfs.core.windows.net/k", "may be a password"),
        ("sftp://me:sec/ret@files/k", "a password with a slash"),
        ("/a/../b", "'..'"),
        ("hdfs://nn/a/../b", "'..'"),
    ],
)
def test_what_cannot_be_compared_is_refused(raw: str, said: str) -> None:
    with pytest.raises(UnknownLocationError, match=said.replace(".", r"\.")):
        RULES.canonical(raw)


@pytest.mark.parametrize(
    ("raw", "opened"),
    [
        ("s3a://KEY:SECRET@b:443/k", "s3a://b/k"),
        ("s3://b:9000/k", "s3://b:9000/k"),
        ("s3://b/k@x:443/y", "s3://b/k@x:443/y"),
        ("abfss://c@one.dfs.core.windows.net:443/k", "abfss://c@one.dfs.core.windows.net:443/k"),
        ("sftp://me:secret@files:22/k", "sftp://me@files:22/k"),
        ("tape://me:secret@robot/k", "tape://me@robot/k"),
        ("s3a://KEY:SEC/RET@b/k", "s3a://***@b/k"),
        ("/wh/a:b@c", "/wh/a:b@c"),
        ("file:///wh/a:b@c", "file:///wh/a:b@c"),
    ],
)
def test_credentials_in_a_path_are_not_used(raw: str, opened: str) -> None:
    assert opened == RULES.to_open(raw)


def test_an_alias_of_a_bucket_counts_with_credentials_and_port_as_well() -> None:
    rules = LocationRules(authority_aliases={"point": "lake", "store:9000": "lake"})
    spelled = ("s3://point/k", "s3://KEY:SECRET@point:443/k", "s3://store:9000/k")
    assert ["s3://lake/k"] * 3 == [rules.canonical(raw) for raw in spelled]


@pytest.mark.parametrize("raw", ["s3a://KEY:SECRET@b:9/k", "warp://me:SECRET@b/k", "s3a://KEY:x/SECRET@b/k"])
def test_an_error_shows_no_password(raw: str) -> None:
    with pytest.raises(UnknownLocationError) as error:
        RULES.canonical(raw)
    assert "SECRET" not in str(error.value)


@given(paths())
def test_a_canonical_path_is_its_own_canonical_form(raw: str) -> None:
    try:
        canonical = RULES.canonical(raw)
    except UnknownLocationError:
        return
    assert canonical == RULES.canonical(canonical)


@given(paths(), keys.filter(lambda key: ".." not in key and key.strip("./")))
def test_what_lies_below_a_location_lies_below_its_canonical_form(location: str, key: str) -> None:
    """A key of nothing but dots and slashes is the location itself; a listing that shows one is refused (S5)."""
    try:
        prefix = RULES.canonical_prefix(location)
    except UnknownLocationError:
        return
    assert RULES.canonical(with_slash(location) + key).startswith(prefix)


@given(st.sampled_from(["s3", "gs", "abfs"]), keys, keys)
def test_different_keys_of_an_object_store_have_different_exact_forms(scheme: str, one: str, other: str) -> None:
    same = RULES.exact(f"{scheme}://b/{one}") == RULES.exact(f"{scheme}://b/{other}")
    assert same == (one == other)


@given(st.sampled_from(["s3", "gs", "abfs"]), keys, keys)
def test_keys_that_differ_in_more_than_slashes_and_dots_are_different(scheme: str, one: str, other: str) -> None:
    same = RULES.canonical(f"{scheme}://b/{one}") == RULES.canonical(f"{scheme}://b/{other}")
    assert same == (_plainly(scheme, one) == _plainly(scheme, other))


def _plainly(scheme: str, key: str) -> tuple[list[str], bool]:
    """The elements of a key that mean something, and whether it ends like a folder."""
    key = key.replace("\\", "/") if scheme == "abfs" else key
    elements = [element for element in key.split("/") if element not in ("", ".")]
    return elements, key.endswith("/") and bool(elements)


@pytest.mark.parametrize(
    ("raw", "climbed"),
    [
        ("s3://b/a/../k", "s3://b/k"),
        ("s3://b//a/./../../../k", "s3://b/k"),
        ("s3://b/a/..", "s3://b/"),
        ("abfs://c/a\\..\\k", "abfs://c/k"),
        ("s3://b/a/..k", None),
        ("s3://b/a//k", None),
    ],
)
def test_steps_up_may_be_taken(raw: str, climbed: str | None) -> None:
    assert climbed == RULES.climbed(raw)


def test_a_prefix_may_have_aliases() -> None:
    rules = LocationRules(path_aliases={"file:///tmp/": "file:///private/tmp/", "file:///tmp/t/": "file:///t/"})
    spelled = ("/tmp/x", "file:/tmp//x", "/tmp/t/x", "/tmp2/x", "/tmp")
    expected = ["private/tmp/x", "private/tmp/x", "t/x", "tmp2/x", "private/tmp/"]
    assert [f"file:///{path}" for path in expected] == [rules.place(raw) for raw in spelled]
    assert "file:///tmp/x" == rules.canonical("/tmp/x")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("s3://b/a b/c,d", ["s3://b/a b/c,d", "s3://b/a"]),
        ("root=s3a://b/t;mode=x", ["s3a://b/t;mode=x", "s3a://b/t"]),
        ("s3://b/t, s3://b/u", ["s3://b/t, s3://b/u", "s3://b/t", "s3://b/u"]),
        ("/wh/t", ["/wh/t"]),
        ("see a/b and c:/d", ["c:/d"]),
        ("a/b", []),
        ("{'x': '/wh/t'}", ["/wh/t'}", "/wh/t"]),
    ],
)
def test_places_are_found_among_other_words(text: str, places: list[str]) -> None:
    assert places == list(places_in(text))


def test_aliases_may_lead_on_to_others() -> None:
    rules = LocationRules(path_aliases={"s3://a/x/": "s3://b/wh/", "s3://b/": "s3://c/"})
    assert "s3://c/wh/t" == rules.place("s3a://a/x//t")
    assert ["s3://b/wh/t"] == list(rules.all_aliased("s3://a/x/t"))


def test_a_prefix_test_never_mistakes_one_table_for_another() -> None:
    assert not RULES.canonical("s3://b/t2/x").startswith(RULES.canonical_prefix("s3a://b/t"))


def test_authorities_may_have_aliases() -> None:
    rules = LocationRules(authority_aliases={"access-point": "bucket"})
    assert "s3://bucket/k" == rules.canonical("s3a://access-point/k")


@given(
    st.lists(st.lists(st.sampled_from("ab"), max_size=4).map(lambda parts: "s3://b/" + "".join(f"{p}/" for p in parts)))
)
def test_the_outermost_locations_hold_all_and_none_holds_another(locations: list[str]) -> None:
    kept = outermost(locations)
    assert all(any(location.startswith(root) for root in kept) for location in locations)
    assert not any(one != other and one.startswith(other) for one in kept for other in kept)
    assert len(kept) == len(set(kept))


@pytest.mark.parametrize(
    ("location", "levels"), [("s3://b/", 0), ("s3://b/a/", 1), ("s3://b/a//b/", 2), ("file:///a/b/c/", 3)]
)
def test_depth_counts_below_the_bucket(location: str, levels: int) -> None:
    assert levels == depth(location)


@pytest.mark.parametrize(("raw", "scheme"), [("S3A://b/k", "s3a"), ("/a:b", "file"), ("file:/a", "file")])
def test_the_scheme_of_a_raw_path(raw: str, scheme: str) -> None:
    assert scheme == scheme_of(raw)
