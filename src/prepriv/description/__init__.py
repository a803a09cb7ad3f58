"""Looking at private data before a model is trained: a schema drafted privately, and a table described with noise."""
