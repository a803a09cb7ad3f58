"""A sketch of a table: noisy counts of each column with the label, and of pairs on request, and rows drawn from them."""
