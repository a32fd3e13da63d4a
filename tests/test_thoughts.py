"""Reasoning inside a text: closed blocks go, open ones end the text, tags that are data stay."""

from __future__ import annotations

import pytest

from lm_eval_task.thoughts import split_thoughts

G = '{"name": "weather", "arguments": {"slug": "koeln"}}'
ROWS = [
    # (text, rest, is a block unclosed, why)
    ("Nein.", "Nein.", False, "no thought"),
    (f"<think>Hm</think>{G}", G, False, "think"),
    (f"<thinking>Hm</thinking>{G}", G, False, "thinking"),
    (f"<seed:think>Hm</seed:think>{G}", G, False, "Seed"),
    (f"[THINK]Hm[/THINK]{G}", G, False, "Mistral"),
    (f"<|START_THINKING|>Hm<|END_THINKING|>{G}", G, False, "Cohere"),
    (f"<|channel>thought\nHm<channel|>{G}", G, False, "Gemma 4"),
    (f"Hm</think>{G}", G, False, "the template wrote the opener"),
    (f"<think></think>{G}", G, False, "an empty block"),
    (f"<think>a</think><think>b</think>{G}", G, False, "two blocks"),
    (f"<think>a</think>Also:<think>b</think>{G}", f"Also:{G}", False, "text between two blocks"),
    (f"<think>a <think> b</think> c</think>{G}", G, False, "nested"),
    (f"<think>{G}</think>Nein.", "Nein.", False, "a draft goes with its block"),
    (f"<think>Hm {G}", "", True, "never closed"),
    (f"Nein.<think>Hm {G}", "Nein.", True, "text before an unclosed block stays"),
    (f"<think>a</think>{G}<think>b", G, True, "closed, then unclosed"),
    (f"[THINK]Hm {G}", "", True, "never closed"),
    (f"<think>Hm [/THINK]{G}", "", True, "another family's closer closes nothing"),
    ('{"name": "x", "arguments": {"note": "<think>a</think>"}}',
     '{"name": "x", "arguments": {"note": "<think>a</think>"}}',
     False, "tags inside the strings of JSON are data"),
    ('{"name": "x", "arguments": {"note": "</think>"}}', '{"name": "x", "arguments": {"note": "</think>"}}', False,
     "a closer as well"),
    ("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Nein.<|return|>", "Nein.",
     False,
     "harmony: analysis goes, final stays"),
    ("<|channel|>analysis<|message|>Hm", "", True, "harmony: analysis never ends"),
    ("<|channel|>final<|message|>Nein.", "Nein.", False, "harmony: final without an end"),
    ("<|channel|>commentary<|message|>Moment.<|end|>", "Moment.", False, "harmony: a preamble is text"),
    ("<|start|>assistant<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>" + G
     + "<|return|>", G, False, "harmony: JSON in the final channel"),
]


@pytest.mark.parametrize(("text", "rest", "unclosed", "why"), ROWS, ids=[r[3] + f" {i}" for i, r in enumerate(ROWS)])
def test_split(text: str, rest: str, unclosed: bool, why: str) -> None:
    thoughts = split_thoughts(text)
    assert (thoughts.text.strip(), thoughts.unclosed) == (rest, unclosed), why


def test_a_harmony_call_stays_for_the_formats() -> None:
    text = ("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather"
            '<|message|>{"slug": "koeln"}<|call|>')
    rest = split_thoughts(text).text
    assert "to=functions.weather" in rest and '{"slug": "koeln"}' in rest and "Hm" not in rest


def test_closed_blocks_are_kept_for_the_lenient_column() -> None:
    assert "eins" in split_thoughts("<think>eins</think>Nein.").closed[0]
    assert "eins" in split_thoughts("eins</think>Nein.").closed[0]


@pytest.mark.parametrize("length", range(len("<think>Hm</think>")))
def test_a_block_cut_at_every_byte_hides_what_it_holds(length: int) -> None:
    text = f"<think>{G}</think>"
    thoughts = split_thoughts(text[:7 + length])
    assert thoughts.unclosed and not thoughts.text
