"""Tests of the hooks that git runs."""
