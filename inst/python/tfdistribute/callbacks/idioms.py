"""R's way of writing what a failing R function has written otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Patterns in the text of an error, and what to write in R. The first match wins.
IDIOMS: Sequence[tuple[str, str]] = (
    (
        (
            r"Expected \w+, but got [\d.e+-]+ of type 'float'"
            r"|has DataType float\d+ not in list of allowed values: \w*int"
            r"|'float' object cannot be interpreted as an integer"
            r"|Cannot convert [\d.e+-]+ to EagerTensor of dtype u?int"
            r"|(must|should) be an? (positive )?int\w*.*(got|received|[Ff]ound).*\.\d"
        ),
        "TensorFlow wants a whole number there, which R writes with L: 10000L instead of 10000.",
    ),
    (
        r"argument is not interpretable as logical|condition has length|as a Python `bool` is not allowed",
        "A tensor has no value while the model is built: use tf$where() or tf$cond() instead of if ().",
    ),
    (
        r"DataType string not in list of allowed values|Cast string to \w+ is not supported",
        (
            "Strings are not numbers: make the column a factor, whose codes a model function reads. With "
            '`factors = "labels"` it gets strings.'
        ),
    ),
    (
        r"Column dtype and SparseTensors dtype must be compatible",
        (
            "A model function reads the codes of a factor: input_layer() gives the labels to columns that look them "
            'up, and `factors = "labels"` in input_fn() gives them to all.'
        ),
    ),
    (
        r"expects [2-9]\d* input\(s\), but it received 1 input tensors",
        "`features` was read as one matrix: as.list(features) gives a model with several inputs its features by name.",
    ),
    (
        (
            r"Failed to convert '?\{|Failed to convert elements of \{|Attempt to convert a value \(\{"
            r"|expects 1 input\(s\), but it received \d+ input tensors"
            r"|Expected any non-tensor type, but got a tensor instead"
            r"|non-numeric argument to|unsupported operand type\(s\) for .*'dict'"
        ),
        "`features` is a list whose columns are not numbers of one kind: give one of them, as in features$x.",
    ),
    (
        (
            r"input #\d+.* was expected to be an? \w+ tensor but is an? \w+ tensor"
            r"|Tensor conversion requested dtype \w+ for Tensor with dtype"
            r"|has type \w+ that does not match type \w+ of argument"
        ),
        "TensorFlow does not convert types by itself: cast one side, as in tf$cast(labels, tf$float32).",
    ),
    (
        r"inhomogeneous shape|setting an array element with a sequence",
        "A list without names is one tensor to TensorFlow: name its parts, as in list(features = x, labels = y).",
    ),
    (
        r"module '[\w.]+' has no attribute '\w+'",
        "Functions of TensorFlow 1 are in tf$compat$v1, for example tf$compat$v1$layers.",
    ),
)


def idiom_for(text: str) -> str | None:
    """Return what to write in R instead; None if the table does not know the error."""
    return next((idiom for pattern, idiom in IDIOMS if re.search(pattern, text, re.DOTALL)), None)
