"""The only code that walks, edits and copies TensorFlow's graphs.

Edges lead from an operation to the tensors that it reads (data) and to the operations that must run before it
(control). Bodies of loops and branches of conditions are functions beside the graph, but loops of TensorFlow 1 are
cycles.
"""
