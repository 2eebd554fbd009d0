"""git: the only part of pq that imports pygit2 or runs the git binary."""
