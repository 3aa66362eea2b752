"""Checkpoints without TensorFlow: which is the newest whole one, and repair of a directory with a broken one."""
