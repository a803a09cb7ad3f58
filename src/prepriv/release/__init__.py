"""What leaves a run: models and reports, their files, pages and pictures."""
