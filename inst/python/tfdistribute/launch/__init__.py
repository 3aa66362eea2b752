"""From a cluster to its processes: so far, what they would do. Plain Python."""
