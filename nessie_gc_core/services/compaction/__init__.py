"""Data files and delete files of tables, put together to a size that readers like."""
