"""Jobs in detached actors of Ray."""
