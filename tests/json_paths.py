"""Every position in a JSON value, and putting something else there: for tests that break files at each of them."""


def paths_of(value, path=()):
    """Every position in a JSON value, as a tuple of keys."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths_of(child, (*path, key))


def put(value, path, new):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new
