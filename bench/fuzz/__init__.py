"""Fuzz targets, one per parser: `python bench/fuzz/NAME.py SECONDS [--seed S]`."""
