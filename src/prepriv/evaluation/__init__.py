"""How good a model is, measured on private rows: noisy counts, and intervals that know their noise."""
