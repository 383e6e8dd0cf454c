"""Which properties of Iceberg and Spark may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.config.plain_properties import is_plain_property

SHOWN = [
    ("spark_conf", "spark.master", "spark://host:7077"),
    ("spark_conf", "spark.app.name", "nessie-gc"),
    ("spark_conf", "spark.sql.extensions", "org.projectnessie.spark.extensions.NessieSparkSessionExtensions"),
    ("spark_conf", "spark.sql.shuffle.partitions", "200"),
    ("spark_conf", "spark.sql.session.timeZone", "UTC"),
    ("spark_conf", "spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog"),
    ("spark_conf", "spark.sql.catalog.lake.type", "rest"),
    ("spark_conf", "spark.sql.catalog.lake.uri", "https://catalog.example.com/api/v2"),
    ("spark_conf", "spark.sql.catalog.lake.warehouse", "s3://lake/wh"),
    ("spark_conf", "spark.executor.memory", "4g"),
    ("spark_conf", "spark.executor.instances", "8"),
    ("spark_conf", "spark.driver.memory", "2g"),
    ("spark_conf", "spark.jars.packages", "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.9.2"),
    ("spark_conf", "spark.hadoop.fs.s3a.endpoint", "http://localhost:9000"),
    ("iceberg", "uri", "thrift://metastore:9083"),
    ("iceberg", "warehouse", "arn:aws:s3tables:eu-central-1:111122223333:bucket/lake"),
    ("iceberg", "type", "glue"),
    ("iceberg", "s3.endpoint", "http://localhost:9000"),
    ("iceberg", "s3.region", "eu-central-1"),
    ("iceberg", "s3.path-style-access", "true"),
    ("iceberg", "oss.endpoint", "https://oss-eu-central-1.aliyuncs.com"),
    ("properties", "gcs.project-id", "lake"),
]
HIDDEN_NAMES = [
    ("iceberg", "s3.secret-access-key"),
    ("iceberg", "s3.access-key-id"),
    ("iceberg", "s3.session-token"),
    ("iceberg", "s3.signer.endpoint.key.region"),
    ("iceberg", "adls.sas-token.account.dfs.core.windows.net"),
    ("iceberg", "adls.connection-string.account"),
    ("iceberg", "gcs.oauth2.token"),
    ("iceberg", "credential"),
    ("iceberg", "token"),
    ("iceberg", "header.Authorization"),
    ("iceberg", "header.X.endpoint"),
    ("iceberg", "made.up"),
    ("iceberg", "spark.sql.extensions"),
    ("properties", "password"),
    ("properties", "user"),
    ("spark_conf", "spark.hadoop.fs.s3a.secret.key"),
    ("spark_conf", "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net"),
    ("spark_conf", "spark.executor.extraJavaOptions"),
    ("spark_conf", "spark.driver.defaultJavaOptions"),
    ("spark_conf", "spark.executorEnv.AWS_SECRET_ACCESS_KEY"),
    ("spark_conf", "spark.kubernetes.driverEnv.X"),
    ("spark_conf", "spark.sql.catalog.lake.credential"),
    ("spark_conf", "spark.sql.catalog.lake.token"),
    ("spark_conf", "spark.sql.catalog.lake.s3.secret-access-key"),
    ("spark_conf", "spark.sql.catalog.lake.header.Authorization"),
    ("spark_conf", "spark.sql.catalog.lake.jdbc.password"),
    ("spark_conf", "spark.sql.catalog.lake.made.up"),
    ("spark_conf", "spark.ssl.keyStorePassword"),
    ("spark_conf", "spark.authenticate.secret"),
    ("spark_conf", "spark.made.up"),
    ("spark_conf", "spark.driver.db.pwd"),
    ("spark_conf", "spark.executor.ssl.passphrase"),
    ("spark_conf", "spark.sql.app.bearer"),
    ("spark_conf", "spark.kms.master"),
    ("spark_conf", "spark.jars.repositories"),
    ("spark_conf", "spark.remote"),
    ("properties", "my.pwd.endpoint"),
]
HIDDEN_VALUES = [
    "http://me:hunter2@host:9000",
    "me:hunter2@host",
    "http://host/?X-Amz-Signature=abc",
    "jdbc:sqlserver://host;password=hunter2",
    "-Dpassword=hunter2",
    "http://me%3Ahunter2%40host",
    "https://host/path#access_token",
    "https://dl.example.com/aB3dE5gH7jK9mN1p/maven",
    "https://example.com/t/dapi0123456789abcdef0123456789abcdef",
    '{"AccountKey":"abc"}',
    "Server:h,Uid:u,Pwd:x",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
]


@pytest.mark.parametrize(("setting", "name", "value"), SHOWN)
def test_well_known_properties_without_secrets_are_shown(setting: str, name: str, value: str) -> None:
    assert is_plain_property(setting, name, value)


@pytest.mark.parametrize(("setting", "name"), HIDDEN_NAMES)
def test_all_others_are_hidden(setting: str, name: str) -> None:
    assert not is_plain_property(setting, name, "x")


@pytest.mark.parametrize("value", HIDDEN_VALUES)
@pytest.mark.parametrize(("setting", "name"), [(setting, name) for setting, name, _ in SHOWN])
def test_no_value_that_may_hold_a_secret_is_shown(setting: str, name: str, value: str) -> None:
    assert not is_plain_property(setting, name, value)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz.-_", max_size=12)


@given(
    st.sampled_from(["", "spark.", "spark.sql.", "spark.sql.catalog.x.", "spark.executor.", "s3.", "x."]),
    WORDS,
    st.sampled_from(["secret", "Password", "TOKEN", "credential", "access-key", "privateKey"]),
    st.sampled_from(["", ".endpoint", ".region", ".memory", ".enabled", ".packages", ".master"]),
)
def test_no_property_with_a_secret_word_in_its_name_is_shown(start: str, more: str, word: str, end: str) -> None:
    for setting in ("spark_conf", "iceberg", "properties"):
        assert not is_plain_property(setting, f"{start}{more}{word}{end}", "x")


@given(
    st.sampled_from([(setting, name) for setting, name, _ in SHOWN]),
    st.text(max_size=20),
    st.text(min_size=1, max_size=20),
    st.text(max_size=20),
)
def test_no_url_with_a_user_or_a_query_is_shown(shown: tuple[str, str], user: str, secret: str, host: str) -> None:
    for value in (f"https://{user}:{secret}@{host}", f"https://{host}?{user}={secret}", f"{user}:{secret}@{host}"):
        assert not is_plain_property(*shown, value)
