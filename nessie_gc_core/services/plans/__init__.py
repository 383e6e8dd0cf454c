"""Deletion plans in files: written by a dry run, reviewed, and applied by a later sweep."""
