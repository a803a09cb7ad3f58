"""Whole pipelines chosen from declared facts: the automatic recipe, DPSGD-F and PILLAR."""
