"""Inputs that a function of the user gives or changes."""
