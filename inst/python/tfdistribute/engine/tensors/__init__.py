"""R's operators, functions and subsetting, applied to tensors."""

from tfdistribute.engine.tensors.functions import function
from tfdistribute.engine.tensors.operators import operation
from tfdistribute.engine.tensors.subsets import dimensions, subset
