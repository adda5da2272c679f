"""`assay serve`: the functions in one local process."""
