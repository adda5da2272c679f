"""The Lambda functions, one folder for each trigger."""
