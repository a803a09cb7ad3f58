"""Accounts of pipelines that were built with other libraries, and the payments that keep a budget."""
