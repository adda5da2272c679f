"""The AWS resources, as CDK stacks."""
