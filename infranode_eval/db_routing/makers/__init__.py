"""What fills the tables of the panel: one module a database, one function a table."""
