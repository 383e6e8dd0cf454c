"""Real servers for tests and demos, started on loopback from published packages: no containers, no cloud."""

from nessie_gc_core.testing.servers.azure import AzureServer
from nessie_gc_core.testing.servers.fault_proxy import FaultProxy, Faults
from nessie_gc_core.testing.servers.gcs import GcsServer
from nessie_gc_core.testing.servers.hdfs import HdfsServer
from nessie_gc_core.testing.servers.hive_metastore import HiveMetastore
from nessie_gc_core.testing.servers.iceberg_rest import IcebergRestServer
from nessie_gc_core.testing.servers.java import Java, JavaRole, find_java
from nessie_gc_core.testing.servers.mariadb import MariaDbServer, mariadb_program
from nessie_gc_core.testing.servers.moto import MotoServer
from nessie_gc_core.testing.servers.nessie import NESSIE_VERSION, NessieServer, nessie_jar
from nessie_gc_core.testing.servers.postgres import PostgresServer, postgres_programs
from nessie_gc_core.testing.servers.process import ServerProcess, ServerStartError, free_ports
from nessie_gc_core.testing.servers.requirement import running, servers_are_required, skip_or_fail
from nessie_gc_core.testing.servers.s3 import S3Server

__all__ = [
    "NESSIE_VERSION",
    "AzureServer",
    "FaultProxy",
    "Faults",
    "GcsServer",
    "HdfsServer",
    "HiveMetastore",
    "IcebergRestServer",
    "Java",
    "JavaRole",
    "MariaDbServer",
    "MotoServer",
    "NessieServer",
    "PostgresServer",
    "S3Server",
    "ServerProcess",
    "ServerStartError",
    "find_java",
    "free_ports",
    "mariadb_program",
    "nessie_jar",
    "postgres_programs",
    "running",
    "servers_are_required",
    "skip_or_fail",
]
