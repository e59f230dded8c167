"""How well the harness itself measures.

`repeats.repeat` takes models and a number of repeats, and returns a `Repeatability`: repeats of our measurement and of
other ways of timing, which `baselines` runs in a separate process. `proof.prove` takes a device and returns a
`Proof`: what `checks` finds there, in processes of their own.
"""
