"""Object stores with accounts for each use, as Spark and the collector reach them: by Iceberg's FileIO for each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import platformdirs
import requests
from azure.storage.blob import BlobServiceClient
from cloud_roles import FSSPEC, role, shared_access
from noted_requests import Recording, recording
from rights_of_requests import azure_rights, gcs_rights
from s3_accounts import account, allowed, asked_for, client, policy

from nessie_gc_core.testing.servers import AzureServer, GcsServer, running
from nessie_gc_core.testing.servers.jars import cached_jars, class_path, pinned
from nessie_gc_core.testing.servers.maven import SOURCES
from nessie_gc_core.testing.servers.s3 import S3Server

CLIENTS = """
org.apache.iceberg:iceberg-gcp-bundle:1.11.0 d9248fc76d94d232e153bf760631229cd3b7c6bc3b20f47d4b2caffe011a8a2f
org.apache.iceberg:iceberg-azure-bundle:1.10.0 f143be94b94bb380e76d1c45ee9a63e143f4a7f813c6aa1ed72f5bfd44f52d05
"""
"""The clients of the clouds, which Iceberg's FileIO calls; there is no newer one of Azure on Maven Central."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The properties of one account."""

    spark: Mapping[str, str]
    """Of a catalog in Spark."""
    iceberg: Mapping[str, str]
    """Of the collector."""


class SparkStore(Protocol):
    """A bucket ``lake``, before which a proxy notes every request of the accounts."""

    url: ClassVar[str]
    """Its location, without a slash at the end."""
    record: Recording

    @abstractmethod
    def jars(self) -> Iterable[Path]:
        """What Spark needs besides Iceberg."""

    @abstractmethod
    def administrator(self) -> Mapping[str, str]:
        """Properties of a catalog in Spark, past the proxy."""

    @abstractmethod
    def account(self, name: str, use: str) -> Access:
        """A new account with the rights of a file, by the address of the proxy."""

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Writes an object, past the proxy."""

    @abstractmethod
    def asked(self) -> list[str]:
        """The rights that the requests since the last call needed."""

    @staticmethod
    @abstractmethod
    def granted(use: str) -> list[str]:
        """The rights of a file, spelled in the same way."""


# ---- S3 -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class S3ForSpark(SparkStore):
    """SeaweedFS, which obeys policies of IAM."""

    url: ClassVar[str] = "s3://lake"
    server: S3Server
    record: Recording

    def jars(self) -> Iterable[Path]:
        return [*Path(class_path("iceberg_rest").removesuffix("/*")).glob("iceberg-aws-bundle*.jar")]

    def administrator(self) -> Mapping[str, str]:
        return self._in_spark(self.server.properties)

    def account(self, name: str, use: str) -> Access:
        access = account(self.server, self.record.endpoint, name, policy(use))
        return Access(spark=self._in_spark(access), iceberg=access)

    def _in_spark(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        region = {"client.region": properties["s3.region"]}
        return {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", **region, **properties}

    def put(self, key: str, data: bytes) -> None:
        client(self.server, "s3").put_object(Bucket="lake", Key=key, Body=data)

    def asked(self) -> list[str]:
        return sorted(map(" ".join, asked_for(self.record.take())))

    @staticmethod
    def granted(use: str) -> list[str]:
        return sorted(map(" ".join, allowed(use)))


@contextmanager
def s3() -> Iterator[SparkStore]:
    """The store."""
    with running(lambda: S3Server(makes_users=True)) as server, recording(server.endpoint) as record:
        yield S3ForSpark(server=server, record=record)


# ---- Google Cloud Storage -----------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class GcsForSpark(SparkStore):
    """The emulator, which knows no accounts."""

    url: ClassVar[str] = "gs://lake"
    server: GcsServer
    record: Recording

    def jars(self) -> Iterable[Path]:
        return [client_of("gcp")]

    def administrator(self) -> Mapping[str, str]:
        return self._in_spark(self.server.endpoint)

    def account(self, name: str, use: str) -> Access:
        properties = {**self.server.properties, **FSSPEC, "gcs.project-id": "none"}
        endpoint = self.record.endpoint
        return Access(spark=self._in_spark(endpoint), iceberg={**properties, "gcs.service.host": endpoint})

    def _in_spark(self, endpoint: str) -> Mapping[str, str]:
        return {
            "io-impl": "org.apache.iceberg.gcp.gcs.GCSFileIO",
            "gcs.project-id": "none",
            "gcs.no-auth": "true",
            "gcs.service.host": endpoint,
        }

    def put(self, key: str, data: bytes) -> None:
        url = f"{self.server.endpoint}/upload/storage/v1/b/lake/o"
        requests.post(url, params={"uploadType": "media", "name": key}, data=data, timeout=30).raise_for_status()

    def asked(self) -> list[str]:
        return sorted(gcs_rights(self.record.take()))

    @staticmethod
    def granted(use: str) -> list[str]:
        return sorted(role("gcs", use)["includedPermissions"])


@contextmanager
def gcs() -> Iterator[SparkStore]:
    """The store."""
    with running(GcsServer) as server, recording(server.endpoint) as record:
        yield GcsForSpark(server=server, record=record)


# ---- Azure --------------------------------------------------------------------------------------------
HOST = f"{AzureServer.account}.dfs.core.windows.net"


@dataclass(frozen=True, kw_only=True)
class AzureForSpark(SparkStore):
    """Azurite, which knows shared access."""

    url: ClassVar[str] = f"abfs://lake@{HOST}"
    server: AzureServer
    record: Recording

    def jars(self) -> Iterable[Path]:
        return [client_of("azure")]

    def administrator(self) -> Mapping[str, str]:
        return {
            **self._in_spark(self.server.endpoint),
            "adls.auth.shared-key.account.name": AzureServer.account,
            "adls.auth.shared-key.account.key": AzureServer.key,
        }

    def account(self, name: str, use: str) -> Access:
        token, endpoint = (
            shared_access(role("azure", use)["DataActions"]),
            f"{self.record.endpoint}/{AzureServer.account}",
        )
        connection = f"BlobEndpoint={endpoint};SharedAccessSignature={token}"
        return Access(
            spark={**self._in_spark(endpoint), f"adls.sas-token.{HOST}": token},
            iceberg={**FSSPEC, "adls.connection-string": connection},
        )

    def _in_spark(self, endpoint: str) -> Mapping[str, str]:
        return {"io-impl": "org.apache.iceberg.azure.adlsv2.ADLSFileIO", f"adls.connection-string.{HOST}": endpoint}

    def put(self, key: str, data: bytes) -> None:
        with BlobServiceClient.from_connection_string(self.server.connection_string) as service:
            service.get_blob_client("lake", key).upload_blob(data)

    def asked(self) -> list[str]:
        return sorted(azure_rights(self.record.take()))

    @staticmethod
    def granted(use: str) -> list[str]:
        return sorted(role("azure", use)["DataActions"])


@contextmanager
def azure() -> Iterator[SparkStore]:
    """The store."""
    with running(AzureServer) as server, recording(f"http://127.0.0.1:{server.port}") as record:
        with BlobServiceClient.from_connection_string(server.connection_string) as service:
            service.create_container("lake")
        yield AzureForSpark(server=server, record=record)


STORES = {"s3": s3, "gcs": gcs, "azure": azure}
GRANTED = {"s3": S3ForSpark.granted, "gcs": GcsForSpark.granted, "azure": AzureForSpark.granted}


def client_of(cloud: str) -> Path:
    """The jar of a cloud's client."""
    lines = "\n".join(line for line in CLIENTS.splitlines() if f"-{cloud}-" in line)
    folder = Path(platformdirs.user_cache_dir("nessie-gc")) / "jars" / f"iceberg_{cloud}"
    (jar,) = cached_jars(pinned(lines), folder, SOURCES).glob("*.jar")
    return jar
