"""The schedule: which services run when, who runs each of them, and what became of it."""
