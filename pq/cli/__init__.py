"""The command line: the only part of pq that speaks."""
