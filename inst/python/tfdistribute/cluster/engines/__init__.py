"""Clusters of engines that start processes as one gang."""
