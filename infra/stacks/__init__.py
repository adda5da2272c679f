"""One stack for what must survive, one for what can be replaced at any time."""
