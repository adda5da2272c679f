"""What follows from the table's changes."""
