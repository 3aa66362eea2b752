"""Who takes part in training, and how TF_CONFIG says it. Plain Python."""
