"""Records in, one tidy DataFrame out: one row per cell and run. The one function to call is `load.load`."""
