"""Output layers: from a text's vector to scores of labels, and the losses that teach them."""
