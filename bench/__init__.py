"""Measure: time vision models eager against compiled and write records.

Importing this package must not import torch: ``python -m bench --help`` answers at once.
"""
