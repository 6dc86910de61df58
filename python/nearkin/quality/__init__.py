"""How right a run is, and which parameters reach a wanted recall."""
