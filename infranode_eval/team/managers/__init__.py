"""One script a scenario for the scripted managers: `rounds(manner)`, a generator function a round."""
