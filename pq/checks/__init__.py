"""From a candidate tree to findings. Knows files and interpreters, not git."""
