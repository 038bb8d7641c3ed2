"""Other people's systems, each in a virtual environment of its own."""
