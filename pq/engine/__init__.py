"""What the commands do: plans, and their execution. Says nothing to the user itself."""
