"""Evaluations and predictions: one session for all, and a cache of graphs."""

from tfdistribute.engine.inference.graph_cache import GRAPHS
from tfdistribute.engine.inference.outputs import CodedStrings, OutputChoice
from tfdistribute.engine.inference.session import InferenceGraph, InferenceSession
