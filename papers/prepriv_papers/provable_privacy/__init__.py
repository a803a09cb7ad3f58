"""Provable Privacy with Non-Private Pre-Processing (Hu, Sanyal and Schölkopf, ICML 2024): tables, figures, soft PCA."""
