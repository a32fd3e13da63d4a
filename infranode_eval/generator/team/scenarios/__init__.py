"""One module a scenario: its facts, and the texts, pictures and sounds that tell them."""
