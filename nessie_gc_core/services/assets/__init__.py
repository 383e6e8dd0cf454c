"""Unreferenced assets as a table: found by one service, deleted by another once enough runs agree."""
