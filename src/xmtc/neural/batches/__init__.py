"""From texts to batches: tokenised once, grouped by length, laid out as each encoder wants it."""
