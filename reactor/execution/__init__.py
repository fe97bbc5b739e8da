"""Runs a program: tags in their order, at each tag the reactions that are triggered, in the order of the plan."""
