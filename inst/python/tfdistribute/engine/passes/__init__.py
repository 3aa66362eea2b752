"""Evaluations and predictions of rows, in large batches or many batches at a time."""

from tfdistribute.engine.passes.outputs import CodedStrings, OutputChoice

__all__ = ["CodedStrings", "OutputChoice"]
