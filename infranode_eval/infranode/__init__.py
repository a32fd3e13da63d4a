"""The InfraNode REST API: a client, recordings, and an embedded offline model of it."""
