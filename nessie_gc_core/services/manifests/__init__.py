"""Manifests of tables, reorganized around their partitions."""
