"""Writers of the reference, one module for each kind of page."""
