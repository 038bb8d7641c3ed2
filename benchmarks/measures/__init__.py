"""Parts that a function of their own measures: speed, memory and checks."""
