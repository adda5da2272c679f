"""Use cases: load, decide, commit, act. Knows ports, not what stands behind them."""
