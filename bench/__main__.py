"""`python -m bench`: see `bench.commands.command_line`."""

from bench.commands.command_line import main

main(prog_name="python -m bench")
