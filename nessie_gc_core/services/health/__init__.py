"""What is due at which table, by metadata alone."""
