"""Training in a process that is one task of a cluster."""
