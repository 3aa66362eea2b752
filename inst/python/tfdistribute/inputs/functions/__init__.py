"""Inputs from functions of the user, and functions that change other inputs."""
