"""Parts of the stacks, each with typed keyword arguments."""
