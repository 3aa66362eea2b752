"""Jobs: the processes of a cluster, started, supervised, restarted and ended."""
