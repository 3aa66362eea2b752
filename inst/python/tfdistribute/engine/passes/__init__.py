"""Evaluations and predictions of rows in memory, in sessions that are kept between verbs."""
