"""The guide while it measures the machine that serves it: the steps of the live run, and a strip that shows them.

Takes the folder of the project and the server; measures in other processes. See `generator.live.live_run`.
"""
