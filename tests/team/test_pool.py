"""The model JSON: what may be declared, what is taken out, what is refused, and that no key is ever shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.providers.protocol import Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.team.pool import SCRIPTED_POOL, Pool, hire, open_roles, read_pool, share_paces
from infranode_eval.team.tools import toolset
from lm_eval_task.errors import UsageError

LLM = {"model_id": "m", "api_base": "http://127.0.0.1:9/v1", "modalities": {"text": True}}


def pool(environ: dict[str, str] | None = None, on_command_line: bool = False, **roles: Any) -> Pool:
    return read_pool(json.dumps({"llm": LLM, **roles}), "pool.json", environ or {}, on_command_line)


@pytest.mark.parametrize("modalities, found", [
    ({"text": True, "image": 4}, {"image": 4}), ({"image": True}, {"image": 8}),
    ({"image": 1, "video": 2, "text": False}, {"image": 1, "video": 2}), ({"image": 1, "video": 0}, {"image": 1}),
    ({"image": 1, "video": False}, {"image": 1})])
def test_modalities_become_how_many_attachments_a_request_holds(modalities: dict, found: dict) -> None:
    assert pool(vlm={"model_id": "v", "modalities": modalities}).roles["vlm"].modalities == found


@pytest.mark.parametrize("key, declared, kept, said", [
    ("llm", {"image": 2}, {}, 1), ("vlm", {"image": 2, "audio": 1}, {"image": 2}, 1), ("llm", {"text": True}, {}, 0),
    ("omni", {"image": 1, "audio": 1, "video": 1}, {"image": 1, "audio": 1, "video": 1}, 0),
    ("main", {"image": 1, "audio": 1}, {"image": 1, "audio": 1}, 0), ("llm", {"image": False}, {}, 0)])
def test_what_a_key_may_not_have_is_taken_out_and_noted(key: str, declared: dict, kept: dict, said: int) -> None:
    """T16"""
    found = pool(**{key: {"model_id": "x", "modalities": declared}})
    assert (found.main if key == "main" else found.roles[key]).modalities == kept
    assert len(found.notes) == said and all(key in note for note in found.notes)


@pytest.mark.parametrize("roles, says", [
    ({"vlm": {"model_id": "v"}}, "image"), ({"vlm": {"model_id": "v", "modalities": {"image": 0}}}, "image"),
    ({"omni": {"model_id": "o", "modalities": {"image": 3}}}, "audio"), ({"llm": {**LLM, "url": "x"}}, "url"),
    ({"llm": {**LLM, "model_id": 7}}, "model_id"), ({"llm": {**LLM, "provider": "aws"}}, "aws"),
    ({"llm": {**LLM, "modalities": {"smell": 1}}}, "smell"), ({"llm": {**LLM, "modalities": ["text"]}}, "list"),
    ({"vlm": {"model_id": "v", "modalities": {"image": -1}}}, "image"),
    ({"vlm": {"model_id": "v", "modalities": {"image": 1.5}}}, "image"), ({"llm": {**LLM, "rpm": 0}}, "rpm"),
    ({"llm": {**LLM, "rpm": True}}, "rpm"), ({"llm": {**LLM, "max_tokens": "viele"}}, "max_tokens"),
    ({"llm": "m"}, "object"), ({"llm": None}, "no model"), ({"tts": {}}, "tts"),
    ({"llm": {**LLM, "api_key_env": "FEHLT"}}, "FEHLT")])
def test_what_cannot_be_meant_names_role_and_field(roles: dict, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        pool(**roles)
    assert says in str(caught.value) and "pool.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", "{}", "[" * 100_000])
def test_a_text_that_is_no_pool_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_pool(text, "pool.json", {})


def test_keys_come_from_the_environment_or_a_file_and_never_from_the_command_line() -> None:
    """T47"""
    assert pool({"K": " geheim "}, llm={**LLM, "api_key_env": "K"}).roles["llm"].api_key == "geheim"
    assert pool(llm={**LLM, "api_key": "geheim"}).roles["llm"].api_key == "geheim"
    assert pool({"K": "geheim"}, True, llm={**LLM, "api_key_env": "K"}).roles["llm"].api_key == "geheim"
    with pytest.raises(UsageError) as caught:
        pool({}, True, llm={**LLM, "api_key": "geheim"})
    assert "geheim" not in str(caught.value)


def test_neither_key_nor_address_is_shown_or_kept() -> None:
    """T17, T47"""
    found = pool(main={"model_id": "h", "api_key": "geheim", "api_base": "http://haupt.example/v1"},
                 llm={**LLM, "api_key": "geheim"})
    assert "geheim" not in repr(found) and "geheim" not in json.dumps(found.to_json())
    assert "http" not in json.dumps(found.to_json())
    assert found.to_json() == {
        "main": {"model_id": "h", "modalities": {"text": True}, "max_tokens": 4096},
        "llm": {"model_id": "m", "modalities": {"text": True}, "max_tokens": 4096}, "vlm": None, "omni": None}


@pytest.mark.parametrize("provider, modality, fits", [
    ("anthropic", "audio", False), ("responses", "audio", False), ("gemini", "audio", True), ("openai", "audio", True),
    ("anthropic", "image", True), ("anthropic", "video", False)])
def test_an_api_that_takes_no_such_attachments_is_refused_before_the_first_request(provider: str, modality: str,
                                                                                 fits: bool) -> None:
    key = "omni" if modality == "audio" else "vlm"
    declared = {"image": 1, modality: 1}
    made = pool(**{key: {"provider": provider, "model_id": "x", "api_base": "http://127.0.0.1:9", "api_key": "k",
                         "modalities": declared}})
    if fits:
        assert set(open_roles(made, toolset(), 1.0, {})) == {"llm", key}
        return
    with pytest.raises(UsageError) as caught:
        open_roles(made, toolset(), 1.0, {})
    assert key in str(caught.value) and modality in str(caught.value)


def test_roles_of_one_endpoint_share_the_slowest_pace() -> None:
    providers = open_roles(pool(llm={**LLM, "rpm": 60}, vlm={**LLM, "model_id": "v", "modalities": {"image": 1},
                                                             "rpm": 30},
                                omni={**LLM, "api_base": "http://127.0.0.1:10", "model_id": "o",
                                      "modalities": {"audio": 1}}), toolset(), 1.0, {})
    share_paces(providers.values())
    assert [providers[key].rpm for key in ("llm", "vlm", "omni")] == [30, 30, None]  # type: ignore[attr-defined]
    assert providers["llm"].address == providers["vlm"].address != providers["omni"].address  # type: ignore


def test_a_role_without_an_address_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        open_roles(pool(llm={"model_id": "m"}), toolset(), 1.0, {})
    assert str(caught.value) == "role llm: its provider needs api_base, e.g. api_base http://127.0.0.1:8000/v1"


def test_the_name_of_a_file_is_no_pool_and_the_message_says_how_a_file_is_written() -> None:
    with pytest.raises(UsageError, match=r'expected an object like \{"llm": .*; a file is written @team.json$'):
        read_pool("team.json", "--model-json", {})


def test_another_manager_keeps_what_was_declared_for_it() -> None:
    made = pool(main={"model_id": "h", "modalities": {"image": 2}})
    assert made.led_by("x").main.model_id == "x" and made.led_by("x").main.modalities == {"image": 2}  # type: ignore
    assert made.led_by(None) is made and pool().led_by("x").main is None


def test_what_is_hired_has_the_tokens_and_attachments_of_its_role() -> None:
    found = hire(ScriptedProvider([]), {"modalities": {"text": True, "image": 3}, "max_tokens": 9}, Sampling(5))
    assert (found.sampling.max_tokens, found.modalities) == (9, {"image": 3})
    assert hire(ScriptedProvider([]), {}, Sampling(5)).sampling.max_tokens == 5


def test_the_scripted_pool_offers_all_three_keys() -> None:
    assert SCRIPTED_POOL.main is None and list(SCRIPTED_POOL.roles) == ["llm", "vlm", "omni"]
    providers = open_roles(SCRIPTED_POOL, toolset(), 1.0, {})
    assert all(provider.deterministic for provider in providers.values())
