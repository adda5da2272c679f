"""The engine in this process that `assay.testing` runs workflows on. It has no names for users."""
