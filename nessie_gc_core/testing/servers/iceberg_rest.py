"""The REST catalog of Iceberg's own tests, over its JDBC catalog, from published jars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import SHORT_LIVED, JavaRole, find_java
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, answers_ok


class IcebergRestServer(OneProcessServer):
    """A REST catalog that is empty, asks nobody who they are, and forgets all when it stops.

    Iceberg's ``RESTCatalogServer`` listens on all interfaces; so Jetty puts the same servlet on loopback.

    Args:
        warehouse: where tables are made.
        properties: what its catalog and FileIO are given.
        region: the AWS region, where its files are in S3.

    Example::

        with S3Server() as s3, IcebergRestServer(f"s3://{s3.bucket}/wh", properties=s3.properties) as server:
            load_catalog("rest", type="rest", uri=server.uri, **s3.properties)
    """

    title = "Iceberg's REST catalog"

    def __init__(self, warehouse: str, *, properties: Mapping[str, str], region: str = "us-east-1") -> None:
        super().__init__()
        self._warehouse = warehouse
        self._properties = dict(properties)
        self._region = region

    @property
    def uri(self) -> str:
        """What a client is given."""
        return f"http://{LOOPBACK}:{self.port}"

    def _command(self, folder: Path, port: int) -> list[str]:
        java = find_java(JavaRole.ICEBERG)
        database = folder / "catalog.db"
        database.unlink(missing_ok=True)
        properties = {
            "uri": f"jdbc:sqlite:file:{database}",
            "jdbc.schema-version": "V1",  # the version that has views
            "warehouse": self._warehouse,
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            **self._properties,
        }
        entries = "".join(
            f"<Entry><Item>{escape(name)}</Item><Item>{escape(value)}</Item></Entry>"
            for name, value in properties.items()
        )
        configuration = folder / "server.xml"
        configuration.write_text(_JETTY.format(host=LOOPBACK, port=port, entries=entries), encoding="utf-8")
        jars = class_path("iceberg_rest")
        return [
            *(str(java.executable), SHORT_LIVED, "-Xmx256m", "-cp", jars),
            *("org.eclipse.jetty.xml.XmlConfiguration", str(configuration)),
        ]

    def _environment(self) -> dict[str, str]:
        return {"AWS_REGION": self._region}

    def _is_ready(self, port: int) -> bool:
        return answers_ok(f"http://{LOOPBACK}:{port}/v1/config")


_JETTY = """<?xml version="1.0"?>
<!DOCTYPE Configure PUBLIC "-//Jetty//Configure//EN" "configure_10_0.dtd">
<Configure id="server" class="org.eclipse.jetty.server.Server">
  <Call name="addConnector"><Arg>
    <New class="org.eclipse.jetty.server.ServerConnector">
      <Arg name="server"><Ref refid="server"/></Arg>
      <Set name="host">{host}</Set>
      <Set name="port">{port}</Set>
    </New>
  </Arg></Call>
  <Set name="handler">
    <New class="org.eclipse.jetty.ee10.servlet.ServletContextHandler">
      <Set name="contextPath">/</Set>
      <Call name="addServlet">
        <Arg><New class="org.eclipse.jetty.ee10.servlet.ServletHolder"><Arg>
          <New class="org.apache.iceberg.rest.RESTCatalogServlet"><Arg>
            <New class="org.apache.iceberg.rest.RESTCatalogAdapter"><Arg>
              <Call class="org.apache.iceberg.CatalogUtil" name="loadCatalog">
                <Arg>org.apache.iceberg.jdbc.JdbcCatalog</Arg>
                <Arg>catalog</Arg>
                <Arg><Map>{entries}</Map></Arg>
                <Arg/>
              </Call>
            </Arg></New>
          </Arg></New>
        </Arg></New></Arg>
        <Arg>/*</Arg>
      </Call>
    </New>
  </Set>
</Configure>
"""
