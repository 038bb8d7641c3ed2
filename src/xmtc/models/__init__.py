"""One file per system; the only room that brings the workshops together."""
