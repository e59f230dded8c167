"""Measure vision models, eager against compiled, and write records. Start at `bench.commands.command_line.main`.

Importing this package must not import torch, so that ``python -m bench --help`` answers at once.
"""
