"""Every property that is read here or by PyIceberg's FileIO is known, so that no run warns of it or refuses it."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import nessie_gc_iceberg_files
import pytest
from nessie_gc_iceberg_files.property_names import FILE_IO_NAMES
from nessie_gc_iceberg_files.storage_credentials import STORAGE_CREDENTIALS, StorageCredentials
from pyiceberg import io

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import hosts
from nessie_gc_core.model.known_names import doubtful_names

PROPERTY = re.compile(r"(?:s3|client|gcs|adls|hdfs|hf|nessie-gc)\.[a-z0-9._-]*[a-z0-9_]")
"""What a whole text that names a property looks like."""
SOURCES = [*Path(str(nessie_gc_iceberg_files.__file__)).parent.glob("*.py"), Path(str(hosts.__file__))]


def texts(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PROPERTY.fullmatch(node.value):
            yield node.value


def test_what_this_plugin_reads_is_known():
    read = {text for file in SOURCES for text in texts(file)}
    assert len(read) > 30
    assert [] == [str(doubt) for doubt in doubtful_names(dict.fromkeys(read, ""), [FILE_IO_NAMES])]


def test_the_constants_of_pyiceberg_are_known():
    constants = {value for name, value in vars(io).items() if name.isupper() and isinstance(value, str)}
    known = dict.fromkeys(filter(PROPERTY.fullmatch, constants), "")
    assert {"s3.role-arn", "gcs.version-aware", "hf.token"} <= known.keys()
    assert [] == [str(doubt) for doubt in doubtful_names(known, [FILE_IO_NAMES])]


def test_common_properties_are_known_without_loading_pyiceberg():
    def fail():
        raise AssertionError("PyIceberg was loaded")

    common = dict.fromkeys(["s3.endpoint", "s3.path-style-access", "client.region", "fsspec.sftp", "py-io-impl"], "")
    assert [] == list(doubtful_names(common, [replace(FILE_IO_NAMES, more=fail)]))


@pytest.mark.parametrize("name", ["s3.acess-key-id", "s3.access_key_id"])
def test_a_misspelt_property_of_one_place_is_an_error_as_well(name):
    entries = [{"prefix": "s3://lake/wh/", "config": {name: "hunter2"}}]
    with pytest.raises(ConfigurationError, match=r"did you mean 's3\.access-key-id'") as caught:
        StorageCredentials({STORAGE_CREDENTIALS: json.dumps(entries)})
    assert "hunter2" not in str(caught.value)
