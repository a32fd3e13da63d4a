"""What inspect_ai and this project say to each other: messages, replies, verdicts; needs the extra [inspect]."""
