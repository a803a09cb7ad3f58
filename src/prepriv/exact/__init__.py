"""One exact sum: rows as integers, their norms, and who adds them up. Knows neither mechanisms nor learners."""
