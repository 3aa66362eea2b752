"""Boosted trees in TensorFlow: the graph that evaluates them, the rows that grow them, and their checkpoints."""

from tfdistribute.engine.trees.forest import ARRAYS, Columns, logits_of, make_model_fn
from tfdistribute.engine.trees.rows import read_rows, write_variables
