"""``nox -s faults``: collections on an S3 server with faults, and collections that are killed."""
