"""S28: no part of a password is shown, whatever characters it is made of."""

from __future__ import annotations

import re

import pytest
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_nessie import NessieConnector

from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import NessieGcError

_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")
"""Where an object lies in memory may have any digits in it."""
HIDDEN = ["qzx/xjw", "12/qzx", "qzx@xjw", "qzx:xjw", "qzx#xjw", "qzx?xjw", "qzx%xjw", "vq@zx/xj?wq#:qzx", "?qzx"]
URLS = {
    JdbcLiveSetStore: ("url", ["postgresql://me:{}@db.invalid/gc", "jdbc:postgresql://me:{}@db.invalid/gc"]),
    IcebergCatalogConnector: ("uri", ["postgresql+psycopg://me:{}@db.invalid/gc", "https://me:{}@db.invalid/x"]),
    NessieConnector: ("uri", ["https://me:{}@db.invalid/api/v2"]),
}
CASES = [(connector, option, url) for connector, (option, urls) in URLS.items() for url in urls]


def shown(connector: type[Connector], options: dict[str, str | int]) -> str:
    """All that a user may see of a connector that is made and used in vain."""
    texts = []
    try:
        with connector.from_options(options) as opened:
            texts.append(_ADDRESS.sub("", f"{opened!r} {opened.options!r}"))
            if isinstance(opened, JdbcLiveSetStore):
                texts.append(opened.database.shown_url)
                list(opened.live_sets())
            if isinstance(opened, IcebergCatalogConnector):
                texts += [opened.identity(), *opened.former_identities()]
                list(opened.references())
    except NessieGcError as error:
        texts.append(str(error))
    return " ".join(texts)


@pytest.mark.parametrize("password", HIDDEN)
@pytest.mark.parametrize(("connector", "option", "url"), CASES)
def test_s28_no_part_of_a_password_in_a_url_is_shown(
    connector: type[Connector], option: str, url: str, password: str
) -> None:
    options: dict[str, str | int] = {option: url.format(password)}
    if connector is IcebergCatalogConnector:
        options["retries"] = 0
    found = shown(connector, options)
    assert found
    parts = [part for part in re.split(r"[/@:#?%]", password) if len(part) > 1]
    assert [] == [part for part in parts if part in found]


@pytest.mark.parametrize("password", HIDDEN)
def test_s28_a_password_as_a_parameter_is_shown_as_little(password: str) -> None:
    url = f"jdbc:postgresql://db.invalid:5432/gc?user=me&password={password}"
    found = shown(JdbcLiveSetStore, {"url": url})
    assert "db.invalid" in found
    assert [] == [part for part in re.split(r"[/@:#?%]", password) if len(part) > 1 and part in found]
