"""Plans: which cells to measure, in which order, and the messages that ask a worker for one.

`plan.make_plan` takes a profile, models and a device, and returns a `Plan`; `plan.pending` returns the steps that have
no record yet. Nothing here imports torch.
"""
