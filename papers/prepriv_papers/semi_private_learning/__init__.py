"""How to Make Semi-Private Learning Effective: PILLAR."""
