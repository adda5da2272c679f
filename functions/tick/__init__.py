"""What is overdue and nobody polls for."""
