"""The machine: processes, cores, GPUs, network and private files."""
