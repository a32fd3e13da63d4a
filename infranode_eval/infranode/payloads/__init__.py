"""Payloads by topic, one builder a key: `BUILDERS` maps a key to (world, city) -> payload without `kind`."""
