"""Editing the queue: new, refresh and all that moves patches about."""
