"""The verbs, in this process: train, evaluate, predict, train_and_evaluate, export."""
