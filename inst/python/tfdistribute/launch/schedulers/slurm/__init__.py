"""Jobs in the queue of Slurm."""
