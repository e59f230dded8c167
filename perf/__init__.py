"""How fast the guide is built, beside other builders of the same pages. Imports no torch."""
