"""Management calls over HTTP."""
