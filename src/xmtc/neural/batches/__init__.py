"""From texts to batches: tokenized once, grouped by length, laid out as each encoder wants it."""
