"""The suite of several steps: worlds, declarations, what a play must show, what it is worth."""
