"""Why single files stay or go."""
