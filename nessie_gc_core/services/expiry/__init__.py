"""Snapshot expiry: takes old snapshots out of the metadata of tables, and deletes what only they needed."""
