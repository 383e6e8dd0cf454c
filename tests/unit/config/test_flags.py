from __future__ import annotations

import pytest

from nessie_gc_core.config.flags import with_flags


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("`min_age` must not be negative", "--min-age must not be negative"),
        ("use `engine` local", "use --engine local"),
        ("run `mark()` for a new one", "run 'nessie-gc mark' for a new one"),
        ("`sweep(resume=True, live_set_id=7-a)`", "'nessie-gc sweep --resume 7-a'"),
        (
            "`move_records(source='nessie:http://a/api/v2', target='b', dry_run=False)`",
            "'nessie-gc move-records --from nessie:http://a/api/v2 --to b'",
        ),
        ("a file `x`.parquet, and `no_setting`", "a file `x`.parquet, and `no_setting`"),
        ("a reference `drop(tables=True)`", "a reference `drop(tables=True)`"),
        ("plain text", "plain text"),
    ],
)
def test_settings_become_options_and_whatever_came_from_data_stays(said: str, shown: str) -> None:
    assert shown == with_flags(said)
