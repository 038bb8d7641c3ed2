"""Turns texts into sparse features."""
