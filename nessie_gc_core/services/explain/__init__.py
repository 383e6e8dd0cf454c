"""Why single files are kept or deleted."""
