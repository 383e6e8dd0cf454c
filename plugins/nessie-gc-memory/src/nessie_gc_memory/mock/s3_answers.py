"""What an S3 server answers about a computed lake; how answers travel is not its business."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from nessie_gc_memory.mock.bucket import MockBucket
from nessie_gc_memory.mock.lake import MockObject

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_MOST_KEYS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """Of an object whose content is not sent."""


def listing(bucket: MockBucket, query: Mapping[str, str]) -> Answer:
    """ListObjectsV2."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    limit = min(int(query.get("max-keys", _MOST_KEYS)), _MOST_KEYS)
    after = query.get("start-after", "")
    if token := query.get("continuation-token"):
        after = base64.urlsafe_b64decode(token).decode()
    page = bucket.page(prefix, delimiter=delimiter, after=after, limit=limit)
    spelled = quote if query.get("encoding-type") == "url" else str
    root = Element("ListBucketResult", xmlns=_NAMESPACE)
    for name, text in (("Name", bucket.name), ("Prefix", spelled(prefix)), ("MaxKeys", str(limit))):
        SubElement(root, name).text = text
    SubElement(root, "KeyCount").text = str(len(page.objects) + len(page.folders))
    SubElement(root, "IsTruncated").text = "true" if page.last is not None else "false"
    if page.last is not None:
        SubElement(root, "NextContinuationToken").text = base64.urlsafe_b64encode(page.last.encode()).decode()
    if "encoding-type" in query:
        SubElement(root, "EncodingType").text = query["encoding-type"]
    for found in page.objects:
        _describe(SubElement(root, "Contents"), found, spelled(found.path))
    for folder in page.folders:
        SubElement(SubElement(root, "CommonPrefixes"), "Prefix").text = spelled(folder)
    return _xml(root)


def _describe(element: Element, found: MockObject, key: str) -> None:
    texts = {
        "Key": key,
        "LastModified": _iso(found.modified),
        "ETag": _etag(found),
        "Size": str(found.size),
        "StorageClass": "STANDARD",
    }
    for name, text in texts.items():
        SubElement(element, name).text = text


def head(bucket: MockBucket, key: str) -> Answer:
    """HeadObject."""
    found = bucket.object(key)
    return error(404, "NoSuchKey", key) if found is None else Answer(headers=_headers(found), length=found.size)


def get(bucket: MockBucket, key: str, asked: str | None) -> Answer:
    """GetObject, or a range of one."""
    found, content = bucket.object(key), bucket.content(key)
    if found is None or content is None:
        return error(404, "NoSuchKey", key)
    match = _RANGE.fullmatch(asked or "")
    if match is None or match[0] == "bytes=-":
        return Answer(body=content, headers=_headers(found))
    first, end = _range(match, len(content))
    if first >= min(end, len(content)):
        return error(416, "InvalidRange", key)
    headers = _headers(found) | {"Content-Range": f"bytes {first}-{end - 1}/{len(content)}"}
    return Answer(status=206, body=content[first:end], headers=headers)


def _range(match: re.Match[str], size: int) -> tuple[int, int]:
    if not match[1]:
        return max(size - int(match[2]), 0), size
    return int(match[1]), min(int(match[2]) + 1, size) if match[2] else size


def delete(bucket: MockBucket, body: bytes) -> Answer:
    """DeleteObjects."""
    try:
        asked = fromstring(body)
    except ParseError:
        return error(400, "MalformedXML", "the body is not XML")
    keys = [found.text or "" for found in asked.iter() if found.tag.rpartition("}")[2] == "Key"]
    quiet = any(found.tag.rpartition("}")[2] == "Quiet" and found.text == "true" for found in asked.iter())
    bucket.delete(keys)
    root = Element("DeleteResult", xmlns=_NAMESPACE)
    for key in () if quiet else keys:
        SubElement(SubElement(root, "Deleted"), "Key").text = key
    return _xml(root)


def setting(name: str) -> Answer:
    """An empty setting of the bucket, such as its versioning."""
    return _xml(Element(name, xmlns=_NAMESPACE))


def error(status: int, code: str, resource: str) -> Answer:
    """An error."""
    root = Element("Error")
    for name, text in (("Code", code), ("Message", code), ("Resource", resource)):
        SubElement(root, name).text = text
    return _xml(root, status)


def _xml(root: Element, status: int = 200) -> Answer:
    body = b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root)
    return Answer(status=status, body=body, headers={"Content-Type": "application/xml"})


def _headers(found: MockObject) -> dict[str, str]:
    return {
        "ETag": _etag(found),
        "Last-Modified": format_datetime(found.modified, usegmt=True),
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
    }


def _etag(found: MockObject) -> str:
    text = f"{found.path} {found.size} {found.modified.isoformat()}"
    return f'"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"'


def _iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"
