"""What is computed: row functions and relations, one step of the pipeline each.

Algorithms know connectors and datasets. They hold no store, no lease and no report: what a live-set store remembers is
handed to them.
"""
