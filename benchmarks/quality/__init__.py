"""How good the rankings are, with fixed settings, beside a peer on the same features."""
