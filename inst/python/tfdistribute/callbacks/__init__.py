"""User functions that TensorFlow calls, and the names of their parameters."""

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tfdistribute import errors
from tfdistribute.callbacks.code import Code, code_of_python
from tfdistribute.errors import CallbackError, TfdistributeError

_OWN_ERROR = re.compile(r"tfdistribute\.errors\.(\w+Error): (.*?)(?:\n\n|$)", re.DOTALL)


class Callback:
    """An R function as a Python callable, whose errors are CallbackErrors.

    R errors cannot pass through TensorFlow, so the function returns a mapping with a ``value``, the text of an
    ``error``, or ``interrupt``. R keeps the condition itself, and makes it the parent of the condition that the user
    sees.

    Args:
        formals: Names of the R function's parameters, including ``...``.
        name: The argument that holds the function, as users write it; None if it is not known.
        code: Returns the fields of a ``Code`` for the R function; None if R does not offer it.
    """

    def __init__(
        self,
        call: Callable[..., Mapping[str, Any]],
        formals: tuple[str, ...],
        name: str | None = None,
        code: Callable[[], Any] | None = None,
    ) -> None:
        self.call = call
        self.formals = formals
        self.name = name
        self.code = code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; KeyboardInterrupt if the user interrupted it, CallbackError if it failed.

        An error of this package, from Python code that the R function called, is raised itself.
        """
        answer = self.call(*args, **kwargs)
        if answer.get("interrupt"):
            raise KeyboardInterrupt
        if answer.get("error") is not None:
            raise _error(answer, self.name)
        return answer.get("value")


def _error(answer: Mapping[str, Any], name: str | None) -> TfdistributeError:
    """Make the error of an R function from its ``error``, ``place``, ``remedy``, ``absent`` and ``traceback``."""
    text = str(answer["error"])
    own = _own_error(text)
    if own is not None:
        return own
    subject = "An R function" if name is None else f"`{name}`"
    error = CallbackError(
        f"{subject} failed{answer.get('place') or ''}: {text}",
        None
        if answer.get("has_remedy")
        else _absent(answer.get("absent"), text) or idiom_for(text),
        argument=name,
    )
    error.text = text
    error.r_traceback = answer.get("traceback")
    return error


def _own_error(text: str) -> TfdistributeError | None:
    match = _OWN_ERROR.search(text)
    if match is None:
        return None
    kind, lines = match[1], match[2].strip().split("\n")
    member = getattr(errors, kind, errors.TrainingError)
    return member(lines[0], lines[1] if len(lines) > 1 and lines[1] else None)


def _absent(absent: Mapping[str, Any] | None, text: str) -> str | None:
    if absent is None or not re.search(
        r"None values not supported|NoneType|of length zero|not an empty", text
    ):
        return None
    name, known = str(absent["name"]), absent["features"]
    known = [known] if isinstance(known, str) else list(known)
    near = difflib.get_close_matches(name, known, n=1)
    guess = f" Did you mean features${near[0]}?" if near else ""
    return f"features${name} is NULL: the features are {', '.join(known)}.{guess}"


def as_callable(value: Any, name: str | None = None) -> Callable[..., Any] | None:
    """Return a function from a Python callable or the mapping of an R function; None for other values."""
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        if "call" not in mapping:
            return None
        formals = tuple(mapping.get("formals") or ())
        return Callback(mapping["call"], formals, name, mapping.get("code"))
    return value if callable(value) else None


def code_of(function: Callable[..., Any]) -> Code | None:
    """Return the code of a function, in R or Python, and the values that it uses; None if it cannot be compared."""
    if isinstance(function, Callback) and function.code is not None:
        return Code.from_values(function.code())
    return code_of_python(function.call if isinstance(function, Callback) else function)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name, or accepts any."""
    if isinstance(function, Callback):
        return name in function.formals or "..." in function.formals
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


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
        "TensorFlow does not convert types. Cast one side, as in tf$cast(labels, tf$float32).",
    ),
    (
        r"inhomogeneous shape|setting an array element with a sequence",
        "A list without names is one tensor to TensorFlow: name its parts, as in list(features = x, labels = y).",
    ),
)


def idiom_for(text: str) -> str | None:
    return next((idiom for pattern, idiom in IDIOMS if re.search(pattern, text, re.DOTALL)), None)
