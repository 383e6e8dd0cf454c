"""Import of what Nessie's Java tool keeps in its tables."""
