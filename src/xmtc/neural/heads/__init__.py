"""Output layers: they turn a text's vector into scores of labels."""
