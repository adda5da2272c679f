"""The table. The only importer of PynamoDB; decides nothing about workflows."""
