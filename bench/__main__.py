"""`python -m bench`: see `bench.commands.cli`."""

from bench.commands.cli import main

main()
