"""Raw tables of any kind: cells, columns, files, and their encoding to rows of the declared space."""
