"""pq: a patch queue in the style of quilt, with git under it."""

__version__ = "0.1.0"
