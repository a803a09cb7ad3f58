"""One exact sum: rows as integers, their norms, and who adds them up. Knows no mechanism and no learner."""
