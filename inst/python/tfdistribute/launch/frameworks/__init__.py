"""Frameworks that start the hosts of a job as one gang."""
