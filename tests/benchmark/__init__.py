"""The measurements: whole runs of the command line on simulated lakes, in seconds, files per second and memory."""
