"""HTTP: decode, call a use case, encode. Decides nothing about workflows."""
