from __future__ import annotations

import pytest

from nessie_gc_core.model.mounts import Mounts

MOUNTS = Mounts(
    r"""22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 8:1 /data/wh/t /mnt/t rw - ext4 /dev/sda1 rw
24 22 8:1 /data /data/wh/loop rw - ext4 /dev/sda1 rw
25 22 8:2 / /disk rw - ext4 /dev/sdb1 rw
26 22 8:2 / /again rw - ext4 /dev/sdb1 rw
27 22 8:2 /some\040folder /mnt/with\040space rw - ext4 /dev/sdb1 rw
28 22 8:3 / /hidden/below rw - ext4 /dev/sdc1 rw
29 22 8:4 / /hidden rw - ext4 /dev/sdd1 rw
30 22 8:3 /x /shown rw - ext4 /dev/sdc1 rw
"""
)


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/data/wh/t/a", "/data/wh/t/a"),
        ("/mnt/t/data/a", "/data/wh/t/data/a"),
        ("/mnt/t", "/data/wh/t"),
        ("/mnt/t2/a", "/mnt/t2/a"),
        ("/data/wh/loop/x", "/data/x"),
        ("/disk/a", "/disk/a"),
        ("/again/a/", "/disk/a"),
        ("/mnt/with space/a", "/disk/some folder/a"),
        ("/shown/a", "/shown/a"),
        ("/", "/"),
    ],
)
def test_every_path_of_a_mounted_folder_has_one_first_path(path: str, first: str) -> None:
    assert first == MOUNTS.first(path)
    assert first == MOUNTS.first(first)


def test_a_path_that_another_mount_lies_over_is_not_the_first_one() -> None:
    mounts = Mounts("1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /wh rw - ext4 b rw\n3 1 8:1 /wh/t /mnt rw - ext4 a rw\n")
    assert "/mnt/a" == mounts.first("/mnt/a")
    assert "/wh/t/a" == mounts.first("/wh/t/a")


def test_a_path_that_can_be_written_to_comes_first() -> None:
    mounts = Mounts(
        "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /ro ro,relatime - ext4 b rw\n3 1 8:2 /wh /lake rw - ext4 b rw\n"
    )
    assert ["/lake/a", "/lake/a", "/ro/b"] == [mounts.first(path) for path in ("/ro/wh/a", "/lake/a", "/ro/b")]


def test_only_a_mount_of_what_is_seen_elsewhere_is_left_alone() -> None:
    assert [True, True, True, False, False, False] == [
        MOUNTS.is_elsewhere(path) for path in ("/mnt/t", "/data/wh/loop/", "/again", "/disk", "/", "/mnt/t/data")
    ]


def test_without_a_table_of_mounts_every_path_is_the_first() -> None:
    assert ("/a/b", False) == (Mounts().first("/a/b"), Mounts().is_elsewhere("/a/b"))
