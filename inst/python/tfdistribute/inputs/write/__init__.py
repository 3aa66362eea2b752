"""Writing of any input as sharded files."""
