"""The objects of a page of ListObjectsV2, read from its XML at once.

boto3 spends about 65 microseconds on each object of a page, most of it on shapes and dates that nobody asked for. This
module takes about two, and leaves every page that looks in any way unusual to boto3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

from botocore.compat import unquote_str

from nessie_gc_core.model.batches import to_micros
from nessie_gc_iceberg_files.stores import Level, StoredFile

OBJECTS = "NessieGcObjects"
"""Where a page has its objects, unless boto3 has read them (``Contents``)."""
_OPENING, _CLOSING = b"<Contents>", b"</Contents>"
_KEY = re.compile(rb"<Key>([^<&]*)</Key>")
_SIZE = re.compile(rb"<Size>([0-9]+)</Size>")
_MODIFIED = re.compile(rb"<LastModified>([^<&]+)</LastModified>")
_ENCODED = re.compile(rb"<EncodingType>\s*url\s*</EncodingType>")
_OTHER_CHARSET = re.compile(rb"<\?xml[^>]*encoding=[\"'](?!utf-8[\"'])", re.IGNORECASE)


def read_objects_of(client: Any) -> None:
    """Has a client read the objects of its listings in this way."""
    # The wildcard makes it come before boto3's own handler, which parses a whole page to find an error in it.
    client.meta.events.register_first("before-parse.*.ListObjectsV2", _before_parse)


def objects_of(page: Mapping[str, Any]) -> list[StoredFile]:
    """The objects of a page."""
    found: list[StoredFile] = page.get(OBJECTS, [])
    return found or [*map(_stored, page.get("Contents", ()))]


def level_of(pages: Iterable[Mapping[str, Any]], limit: int | None) -> Level | None:
    """The objects and folders of a listing with a delimiter; ``None`` if there are more than so many."""
    files: list[StoredFile] = []
    prefixes: list[str] = []
    for page in pages:
        files.extend(objects_of(page))
        prefixes.extend(found["Prefix"] for found in page.get("CommonPrefixes", ()))
        if limit is not None and len(files) + len(prefixes) > limit:
            return None
    return Level(files, prefixes)


def _before_parse(
    response_dict: MutableMapping[str, Any], customized_response_dict: MutableMapping[str, Any], **_: object
) -> None:
    """Takes the objects out of an answer; one without any, or that is not a listing, stays as it is."""
    body = response_dict["body"]
    if response_dict["status_code"] != 200 or not isinstance(body, bytes):
        return
    start, end = body.find(_OPENING), body.rfind(_CLOSING) + len(_CLOSING)
    if start < 0 or end < start:
        return
    objects = _objects(body[start:end], is_encoded=_ENCODED.search(body[:start] + body[end:]) is not None)
    if objects is not None and not _OTHER_CHARSET.match(body):
        customized_response_dict[OBJECTS] = objects
        response_dict["body"] = body[:start] + body[end:]


def _objects(contents: bytes, *, is_encoded: bool) -> list[StoredFile] | None:
    """The objects between the first and the last; ``None`` if anything else stands there, or anything is odd."""
    count = contents.count(_OPENING)
    keys, sizes, times = _KEY.findall(contents), _SIZE.findall(contents), _MODIFIED.findall(contents)
    if not (len(keys) == len(sizes) == len(times) == count) or b"<CommonPrefixes" in contents:
        return None
    try:
        names = [key.decode() for key in keys]
        if is_encoded:
            names = [unquote_str(name) if "%" in name or "+" in name else name for name in names]
        modified = [datetime.fromisoformat(time.decode()) for time in times]
    except ValueError:
        return None
    if any(time.tzinfo is None for time in modified):
        return None
    return [*map(StoredFile, names, map(int, sizes), map(to_micros, modified))]


def _stored(found: Mapping[str, Any]) -> StoredFile:
    modified = found.get("LastModified")
    return StoredFile.at(found["Key"], found.get("Size"), modified.astimezone(UTC) if modified else None)
