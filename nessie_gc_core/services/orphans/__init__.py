"""Orphan files of one table, in the words of Iceberg's procedure ``remove_orphan_files``."""
