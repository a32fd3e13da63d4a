"""Prints the folder for `lm_eval --include_path "$(python -m lm_eval_task)"`."""

from pathlib import Path

if __name__ == "__main__":
    print(Path(__file__).resolve().parent)
