"""The task that lm-evaluation-harness loads, and THE scorer: pure functions, standard library only."""
