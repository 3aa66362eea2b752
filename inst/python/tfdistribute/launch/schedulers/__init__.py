"""Schedulers, which run the supervisor of a job inside its cluster, so that the job survives the session."""
