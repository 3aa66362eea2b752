"""Files of inputs: search, blocks, and the input that reads them."""
