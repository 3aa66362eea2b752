# TensorFlow has no types of its own, and the stubs that pyright brings along know half of it and are wrong about
# Estimators: to the checker everything in it is of any type.
from typing import Any

def __getattr__(name: str) -> Any: ...
