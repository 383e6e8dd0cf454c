"""What happens, in order: a service takes a run (:mod:`nessie_gc_core.services.run`) and gives a report.

Services hold stores, leases, steps and reports. Whatever is decided about a file is decided by an algorithm.
"""
