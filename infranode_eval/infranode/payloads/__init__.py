"""Payloads by topic, one builder a key: `BUILDERS` of each module maps a key to (world, city) -> payload without `kind`."""
