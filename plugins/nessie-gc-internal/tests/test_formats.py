"""What Nessie 0.99.0 stored, byte by byte, and what is made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_internal.contents import StoredContent, read_content, related_ids
from nessie_gc_internal.index import value_ids, values_by_key
from nessie_gc_internal.objects import (
    commit_indexes,
    content_of,
    index_of,
    index_segments,
    named_by,
    new_reference,
    previous_pointers,
    unique_id_space,
)
from nessie_gc_internal.wire import FormatError, Message
from records import NO_COMMIT, Records, index, message, varint

FIRST_COMMIT = (
    "128c0108baa4d8bad89d980310011a202e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d2a0b0a077265706f2e"
    "696412002a2b0a0974696d657374616d70121e323032362d31312d32335430383a33393a31332e3836313934353537395a321d496e69746961"
    "6c697a65207265666572656e636520696e742f726566734a02020058025800"
)
NAMESPACE = (
    "22560a2461343533373831342d643963632d343365632d626664662d65346439316265393939323510041a2c2a2461343533373831342d6439"
    "63632d343365632d626664662d653464393162653939393235"
    "32040a026e735800"
)
TABLE = (
    "22da010a2465326263383665622d326231342d343966632d613038662d64343163643939333734303010011aaf0112860108ab99a7abd882e7"
    "b7102a7a73333a2f2f6c616b652f726573742f64622f745f34353764336363332d363164392d343865382d386531392d656462643437666436"
    "3037322f6d657461646174612f30303030302d36353463613734392d303530372d346538392d383664632d3533356135323430306264622e6d"
    "657461646174612e6a736f6e2a2465326263383665622d326231342d343966632d613038662d6434316364393933373430305800"
)
LOCATION = (
    "s3://lake/rest/db/t_457d3cc3-61d9-48e8-8e19-edbd47fd6072/metadata/"
    "00000-654ca749-0507-4e89-86dc-535a52400bdb.metadata.json"
)
TABLE_WITHOUT_SNAPSHOT = StoredContent(
    content_id="219b1160-5715-4a40-8adb-34376970c2e0",
    content_type="ICEBERG_TABLE",
    metadata_location="s3://lake/rest/db/gone_70abb957-2427-4c2c-9726-77ae485616f1/metadata/"
    "00000-3c8339a5-271a-484b-9f3b-619d5a246977.metadata.json",
    version_id=-1,
)
CREATION = (
    "1a3c0a0f726566732f68656164732f6d61696e12202e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d1899eadb"
    "bad89d98035800"
)
INDEX = (
    "32e7030ae40302084d006e73004300004e04203f52cdcf62a67d90d3b08c7c09cd97d6db95b9f1155a8bc770757d586864a6aba4537814d9cc"
    "43ecbfdfe4d91be9992504017461626c655f776974685f6c6f6e675f6e616d655f303030004300004e0120003bf5104ba0e7e030abc5ae484e"
    "bd86b71a1b179d8896afd97e0a4c1576610784274679c3074b9c8f869e0f33aa97cd0531004300004e0120d658fe671935b1c5ed3ddb85167a"
    "93ab874603b63ca9c2282bb75e366cac83be041c274e75784e9a960538cc825e41290532004300004e0120175c299a91ee40b2315dbb3ad26a"
    "16c10e6d84dc574e298412dc1c6ea97fd7932c9ddd405c044da5a4c1be45b73a51670533004300004e0120f86c84517684ad839f4f696db6cd"
    "5fafa7ca636e62f67b677af981e9079ff791f5fae16d9a4f4d7e81ba5e7b799777c40534004300004e0120fb0ad8e82d39b76ed3914ba6be78"
    "b312a51f9a0d9ef605955b4364df7bf363d20166e98accd04497851218de5452ea4b0535004300004e01209afd473d1ab7278d589850c897b6"
    "ac8ae241b7a01233ff07cbddaa75870eeaabad3946df8acb49edb20bde2bcac586840536004300004e012020b835904a6f5b7b3c30f2ddb6c6"
    "00a7e0e456e675807ee0b87cc3b5b9c9ffec8176b8c794d142e79d5789f2856d70e25800"
)
SEGMENTS = (
    "2aff020a4b0a064d006e730043121f4d006e73017461626c655f776974685f6c6f6e675f6e616d655f30303600431a20314a56939e476194386f"
    "e666397724c5b6a4a3553d39fbffa1f235f5e61296a60a640a1f4d006e73017461626c655f776974685f6c6f6e675f6e616d655f3030370043"
    "121f4d006e73017461626c655f776974685f6c6f6e675f6e616d655f30313300431a201ce2b6597792d7b8e6acab8014265b095fa25dc2a5f7"
    "7e35c359c015119f4d4a0a640a1f4d006e73017461626c655f776974685f6c6f6e675f6e616d655f3031340043121f4d006e73017461626c65"
    "5f776974685f6c6f6e675f6e616d655f30323000431a20749c111e9af9242d9b0d5686c9db4080ead9c8ec1bd0f0b02f5719f5ddc728740a64"
    "0a1f4d006e73017461626c655f776974685f6c6f6e675f6e616d655f3032310043121f4d006e73017461626c655f776974685f6c6f6e675f6e"
    "616d655f30323300431a20b1acbee7581035e93e6d9e4fbbb0ecdf2ef1ceb94ec5e97eacb7767ad56fde025800"
)
UNIQUE_ID = "521e0a0a636f6e74656e742d69641210a4537814d9cc43ecbfdfe4d91be999255800"


def _of(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal)


# ---- what a server stored -----------------------------------------------------------------------------
def test_the_first_commit_of_a_repository_names_nothing_but_the_commit_that_does_not_exist() -> None:
    assert {NO_COMMIT} == set(named_by("c", _of(FIRST_COMMIT)).needed)
    assert () == commit_indexes(_of(FIRST_COMMIT)).segments


def test_a_namespace_is_read() -> None:
    expected = StoredContent(content_id="a4537814-d9cc-43ec-bfdf-e4d91be99925", content_type="NAMESPACE")
    assert expected == content_of(_of(NAMESPACE))


def test_a_table_is_read() -> None:
    expected = StoredContent(
        content_id="e2bc86eb-2b14-49fc-a08f-d41cd9937400",
        content_type="ICEBERG_TABLE",
        metadata_location=LOCATION,
        version_id=1184336843268279467,
    )
    assert expected == content_of(_of(TABLE))


def test_the_unique_id_and_the_catalog_snapshot_of_a_table_have_the_ids_that_nessie_gave_them() -> None:
    unique_id, _, snapshot = related_ids(content_of(_of(TABLE)))
    assert "e25cb846c722c28341f742de45497edc184ec1e93f2cd505c732a87e14a85ff8" == unique_id.hex()
    assert "60b13c1116b8978f84b05e2a12d4d018f8c3cdd19ecafe7ec724c2da76c890e9" == snapshot.hex()


def test_so_has_the_snapshot_of_a_table_without_snapshots() -> None:
    *_, snapshot = related_ids(TABLE_WITHOUT_SNAPSHOT)
    assert "c9e8b1bf77a0c48f08e49ab1886952670cca4047aaa369a7d3a31e179e4e03cb" == snapshot.hex()


def test_the_creation_of_a_reference_is_read() -> None:
    created = new_reference(_of(CREATION))
    assert ("refs/heads/main", NO_COMMIT) == (created.name, created.initial_pointer)


def test_a_unique_id_says_what_it_is_for() -> None:
    assert "content-id" == unique_id_space(_of(UNIQUE_ID))


def test_an_index_names_the_values_of_its_keys() -> None:
    stored = index_of(_of(INDEX))
    keys = [key for key, _ in values_by_key(stored)]
    tables = [f"M\0ns\x01table_with_long_name_{number:03}\0C".encode() for number in range(7)]
    assert [b"M\0ns\0C", *tables] == keys
    assert value_ids(stored) == {value for _, value in values_by_key(stored)}
    assert value_ids(stored) == set(named_by("i", _of(INDEX)).needed)


def test_a_record_of_segments_names_the_indexes() -> None:
    found = [segment.hex()[:8] for segment in index_segments(_of(SEGMENTS))]
    assert ["314a5693", "1ce2b659", "749c111e", "b1acbee7"] == found
    assert index_segments(_of(SEGMENTS)) == list(named_by("I", _of(SEGMENTS)).needed)


# ---- indexes ------------------------------------------------------------------------------------------
def test_keys_that_are_gone_name_no_value() -> None:
    stored = index([(b"a", "R", bytes(32)), (b"b", "r", b"\1" * 32), (b"c", "a", b"\2" * 32), (b"d", "N", b"\3" * 32)])
    assert {b"\2" * 32, b"\3" * 32} == value_ids(stored)
    assert {b"a": None, b"b": None, b"c": b"\2" * 32, b"d": b"\3" * 32} == dict(values_by_key(stored))


PARTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
KEYS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: "\0".join(parts).encode())
IDS = st.sampled_from((32, 32, 32, 16, 20, 127, 1)).flatmap(lambda size: st.binary(min_size=size, max_size=size))


@given(st.dictionaries(KEYS, st.tuples(st.sampled_from("NARar"), IDS), max_size=40), st.sampled_from((1, 2)))
def test_every_index_is_read_as_it_was_written(elements: dict[bytes, tuple[str, bytes]], version: int) -> None:
    stored = index([(key, action, value) for key, (action, value) in elements.items()], version=version)
    expected = {key: value if action in "NAa" else None for key, (action, value) in elements.items()}
    assert expected == dict(values_by_key(stored))
    assert {value for value in expected.values() if value is not None} == value_ids(stored)


@given(st.binary(max_size=200))
def test_other_bytes_are_refused_or_are_an_index(data: bytes) -> None:
    try:
        found = value_ids(b"\2" + data)
    except FormatError:
        return
    assert len(found) <= varint_of(data)


def varint_of(data: bytes) -> int:
    value = 0
    for position, byte in enumerate(data):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            break
    return value


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (b"\3\0", "version 3"),
        (index([(b"a", "A", bytes(32))])[:-1], "unknown form"),
        (index([(b"a", "A", bytes(32)), (b"b", "A", bytes(32))])[:-20], "unknown form"),
        (index([(b"a", "X", bytes(32))]), "unknown form"),
        (b"\2\2" + index([(b"a", "A", bytes(32))])[2:], "claims 2 elements, but has 1"),
        (b"\2\2" + index([(b"a", "A", bytes(32))])[2:] + b"\x7fb\0\0A\1\0" + bytes(16), "more off a key"),
    ],
    ids=["a later version", "cut off", "cut off later", "an unknown action", "too few elements", "no such prefix"],
)
def test_an_index_of_another_form_is_refused(stored: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        list(values_by_key(stored))


# ---- records that are not known -----------------------------------------------------------------------
def test_a_field_that_a_later_nessie_adds_is_refused_by_its_number() -> None:
    with pytest.raises(FormatError, match="a commit has a field 12"):
        named_by("c", message((2, message((1, 1), (12, b"x")))))


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("x-y", b"", "kind 'x-y' is unknown"),
        ("c", message((4, message())), "do not fit"),
        ("v", message((4, message()), (2, message())), "do not fit"),
        ("c-s", message((2, message())), "do not fit"),
        ("c", message((2, b"\x0a")), "field 1 of the unknown wire type 2"),
        ("c", message((2, message((1, 1), (10, 1)))), "finish the import"),
        ("v", message((4, message((1, "id"), (2, 9), (3, b"")))), "payload 9"),
        ("v", message((4, message((1, "id"), (2, 1), (3, message((5, "id")))))), "has an unknown type"),
        ("c", b"\x12\x7f", "truncated"),
        ("c", b"\x12" + b"\xff" * 11, "too long"),
        ("s", b"\x3a", "truncated"),
    ],
)
def test_a_record_of_another_form_is_refused(kind: str, data: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        named_by(kind, data)


def test_content_ids_of_imported_repositories_may_be_any_text() -> None:
    content = StoredContent(content_id="not a uuid", content_type="DELTA_LAKE_TABLE")
    assert [] == list(related_ids(content))


@pytest.mark.parametrize(
    ("field", "state", "expected"),
    [
        (1, message((1, "s3://old.json")), ("ICEBERG_TABLE", "s3://old.json", None)),
        (3, message((1, 3), (5, "s3://view.json")), ("ICEBERG_VIEW", "s3://view.json", 3)),
        (4, message((1, "s3://checkpoint")), ("DELTA_LAKE_TABLE", None, None)),
        (7, message((1, "SELECT"), (5, "s3://udf.json")), ("UDF", "s3://udf.json", None)),
    ],
)
def test_every_type_of_content_is_read(field: int, state: bytes, expected: tuple[object, ...]) -> None:
    content = read_content("id", 0, message((field, state), (5, "id")))
    assert expected == (content.content_type, content.metadata_location, content.version_id)


def test_previous_pointers_are_read_with_the_time_of_the_change() -> None:
    one, two = message((1, b"\1" * 32), (2, 5)), message((1, b"\2" * 32), (2, 3))
    stored = varint(len(one)) + one + varint(len(two)) + two
    assert [(b"\1" * 32, 5), (b"\2" * 32, 3)] == previous_pointers(stored)


def test_numbers_below_zero_are_read_as_such() -> None:
    read = Message(message((1, -5)), {1: 0}, "a message")
    assert -5 == read.signed(1)


def test_a_commit_names_parents_merged_commits_stripes_and_values() -> None:
    records = Records()
    value = records.value("s3://a")
    stripe = records.index([(b"z", "N", value)])
    commit = records.commit({"a": value}, parents=(b"\1" * 32, NO_COMMIT), merged=[b"\2" * 32], stripes=[stripe])
    expected = {b"\1" * 32, NO_COMMIT, b"\2" * 32, stripe, value}
    assert expected == set(named_by("c", records.rows[commit][2]).needed)
