"""Pure decisions: what may happen to a run, and what follows. Knows no I/O, no clock, no store."""
