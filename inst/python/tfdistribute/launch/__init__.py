"""From a cluster to its processes: planned, started, watched, healed and ended. Plain Python."""
