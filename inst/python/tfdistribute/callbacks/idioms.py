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
            r"|(must be|should be|expected) an? (positive )?int\w*.*(got|[Rr]eceived|[Ff]ound).*\.\d"
        ),
        "TensorFlow wants a whole number there, which R writes with L: 10000L instead of 10000.",
    ),
    (
        r"argument is not interpretable as logical|condition has length|as a Python `bool` is not allowed",
        "A tensor has no value while the model is built: use tf$where() or tf$cond() instead of if ().",
    ),
    (
        r"missing value where TRUE/FALSE needed",
        (
            "The number of rows of a tensor is not known while the model is built, and is NA in R: use lapply() in "
            "place of sapply(), tf$maximum() in place of pmax(), and tf$cond() in place of if ()."
        ),
    ),
    (
        r"requires numeric/complex matrix/vector arguments",
        "Use tf$matmul(x, y) for tensors: %*% and crossprod() are for R's matrices.",
    ),
    (
        r"must be an array of at least two dimensions",
        "For tensors, use sum(x, axis = 2) in place of rowSums(x), and mean(x, axis = 1) in place of colMeans(x).",
    ),
    (
        r"type 'environment'|environments cannot be coerced",
        (
            "Only R's operators and common functions of numbers take tensors: use TensorFlow's function, such as "
            "tf$where() in place of ifelse() and tf$cast() in place of as.numeric()."
        ),
    ),
    (
        r"Non-numeric argument to mathematical function",
        "R's distributions do not take tensors; plogis(x) is tf$sigmoid(x) in TensorFlow.",
    ),
    (
        r"expects 1 input\(s\), but it received \d+ input tensors|unsupported operand type\(s\) for .*'dict'",
        (
            "`features` are one matrix only if all are numbers of one kind: give one feature, as in features$x, or "
            'several numbers, as in features[c("x", "y")].'
        ),
    ),
    (
        (
            r"Expected list for '\w+' argument|KeyError: 0\b|should be called on a list of at least"
            r"|parameter 'inputs' has DataType string"
        ),
        "TensorFlow wants a list of tensors without names there: unname(features).",
    ),
    (
        (
            r"Failed to convert '?\{|Failed to convert elements of \{|Attempt to convert a value \(\{"
            r"|Expected any non-tensor type, but got a tensor instead"
        ),
        (
            "A list with names is a dictionary to TensorFlow: give one of its tensors, as in features$x, or all of "
            "them as a list, unname(x)."
        ),
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
            r"float32\b.* match type float64|float64\b.* match type float32"
            r"|requested dtype float64 .* dtype float32|requested dtype float32 .* dtype float64"
            r"|a double tensor but is a float tensor|a float tensor but is a double tensor"
        ),
        "Numbers reach model functions as float32: cast to tf$float32 in place of tf$float64.",
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
)


def idiom_for(text: str) -> str | None:
    """Return what to write in R instead; None if the table does not know the error."""
    return next((idiom for pattern, idiom in IDIOMS if re.search(pattern, text, re.DOTALL)), None)
