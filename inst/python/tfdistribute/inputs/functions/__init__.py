"""Inputs from user functions, and transformations of other inputs."""
