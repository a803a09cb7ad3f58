"""Schema files: YAML read and written, learners declared by name, drafts."""
