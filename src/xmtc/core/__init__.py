"""The nouns, the walk, settings, errors and the safe file format."""
