"""The workers' calls over HTTP."""
