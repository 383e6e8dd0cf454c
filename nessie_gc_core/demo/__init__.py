"""The demo: the whole job on a small lake that real Spark writes through a real Nessie, on this machine.

Nothing but the command line imports it, and that only when the demo is asked for.
"""
