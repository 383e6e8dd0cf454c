"""A page about a schedule: what is due, what ran, what failed and why, and what was reclaimed."""
