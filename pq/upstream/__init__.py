"""Where releases come from."""
