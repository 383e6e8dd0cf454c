"""A page about the table of unreferenced assets: figures, and their rendering as HTML and plots."""
