"""A conversation in the terminal: what is shown, what can be typed, and the two fronts, a terminal and a pipe."""
