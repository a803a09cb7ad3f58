"""Third-party code on made-up rows, before any charge."""
