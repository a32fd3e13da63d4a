"""The German texts of the scenarios: what agents read, and what they are asked."""
