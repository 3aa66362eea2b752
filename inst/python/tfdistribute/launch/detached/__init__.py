"""Jobs whose supervisor runs inside the cluster, so that they survive the session."""
