"""Clusters of frameworks that start processes as one gang."""
