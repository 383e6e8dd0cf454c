"""The engines: each implements the dataset protocol, and imports what it runs on only when it is asked for."""
