"""Model directories on remote storage: access and the lease of a job. Neither is needed for local ones."""
