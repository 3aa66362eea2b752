"""Clusters: tasks, addresses, TF_CONFIG, checks."""
