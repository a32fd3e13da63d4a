"""Builds the tasks of the suite chain: templates in, checked rows out; nobody types a gold."""
