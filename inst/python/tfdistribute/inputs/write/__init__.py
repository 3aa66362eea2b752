"""Writing any input as sharded files."""
