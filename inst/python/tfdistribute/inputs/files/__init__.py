"""Input files: search, block-wise reading and the base input."""
