"""Measurements behind the numbers in docs/, each run by hand with `python -m bench.<name>`."""
