"""Services of this machine: processes, hardware, network, locks, logs and private files."""
