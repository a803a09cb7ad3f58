"""Planted bugs of the joints between parts: where a premise, a default or a setting crosses from one to another."""
