"""The other AWS services, one file each."""
