"""Looking at private data before a model is trained: a schema drafted in private, and a table described in noise."""
