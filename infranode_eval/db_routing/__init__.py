"""The suite db_routing: which of eleven databases answers a question, and with which SQL."""
