"""Reports of a running job: its goodput, and the files and pages that show its state."""
