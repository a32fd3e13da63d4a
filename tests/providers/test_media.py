"""Attachments in a conversation: hashed in what is kept, whole in what is sent, each API in its own form."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from infranode_eval.journal import request_key
from infranode_eval.providers import open_provider
from infranode_eval.providers.conversation import Conversation
from infranode_eval.providers.media import Media, media_in
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.team.tools import offered, subset
from tests.stub_endpoint import VENDORS, React, StubEndpoint, vendor_body

DATA = {"image/png": b"\x89PNG\r\n\x1a\nbild", "audio/wav": b"RIFF0000WAVEton", "video/mp4": b"0000ftypfilm"}


def media(mime: str) -> Media:
    return Media(hashlib.sha256(DATA[mime]).hexdigest(), mime, f"/arbeit/x.{mime[-3:]}", DATA[mime])


def coded(mime: str) -> str:
    return base64.b64encode(DATA[mime]).decode()


def conversation(*mimes: str) -> list[dict[str, Any]]:
    """A Read, its result, and behind it what was attached."""
    return [{"role": "system", "content": "Du liest."}, {"role": "user", "content": "Lies."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {
                "name": "Read", "arguments": '{"file_path": "/arbeit/x"}'}}]},
            {"role": "tool", "tool_call_id": "c1", "name": "Read", "content": "[folgt]"},
            {"role": "user", "content": [part for mime in mimes for part in (
                {"type": "text", "text": "Inhalt von x:"}, media(mime))]}]


def sent(vendor: str, *mimes: str, kept: bool = True) -> dict[str, Any]:
    """The body of the request. kept: as a growing conversation, whose messages are encoded once."""
    messages = conversation(*mimes)
    with StubEndpoint([React(vendor_body(vendor, "gut"))]) as endpoint:
        provider = open_provider(vendor, ProviderOptions("m", offered(frozenset({"Read"})), endpoint.url, "k"))
        provider.ask(Conversation(messages) if kept else messages, subset(["Read"]), Sampling(10))
        provider.close()
        return endpoint.requests[0].body


@pytest.mark.parametrize("kept", [True, False])
def test_openai_takes_pictures_as_data_uris_and_sounds_as_input_audio(kept: bool) -> None:
    """T5"""
    body = sent("openai", *DATA, kept=kept)
    assert body["messages"][-2]["role"] == "tool"
    assert body["messages"][-1]["content"][1::2] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded('image/png')}"}},
        {"type": "input_audio", "input_audio": {"data": coded("audio/wav"), "format": "wav"}},
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{coded('video/mp4')}"}}]
    assert body["messages"][-1]["content"][0] == {"type": "text", "text": "Inhalt von x:"}


def test_anthropic_takes_sources_behind_the_results_in_one_turn() -> None:
    last = sent("anthropic", "image/png")["messages"][-1]
    assert last["role"] == "user" and [part["type"] for part in last["content"]] == ["tool_result", "text", "image"]
    assert last["content"][2] == {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                                              "data": coded("image/png")}}


def test_gemini_takes_inline_data_behind_the_responses_in_one_content() -> None:
    last = sent("gemini", *DATA)["contents"][-1]
    assert last["role"] == "user" and "functionResponse" in last["parts"][0]
    assert last["parts"][1:] == [part for mime in DATA for part in (
        {"text": "Inhalt von x:"}, {"inlineData": {"mimeType": mime, "data": coded(mime)}})]


def test_responses_takes_input_images() -> None:
    items = sent("responses", "image/png")["input"]
    assert items[-2]["type"] == "function_call_output"
    assert items[-1] == {"role": "user", "content": [
        {"type": "input_text", "text": "Inhalt von x:"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{coded('image/png')}"}]}


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_api_is_sent_our_own_form(vendor: str) -> None:
    text = json.dumps(sent(vendor, "image/png"))
    assert '"media"' not in text and "sha256" not in text and coded("image/png") in text


@pytest.mark.parametrize("vendor, takes", [("openai", {"image", "audio", "video"}), ("anthropic", {"image"}),
                                           ("gemini", {"image", "audio", "video"}), ("responses", {"image"})])
def test_each_api_says_what_it_takes(vendor: str, takes: set[str]) -> None:
    """T16"""
    provider = open_provider(vendor, ProviderOptions("m", offered(frozenset({"Read"})), "http://127.0.0.1:9/v1", "k"))
    assert provider.perceives == takes


def test_what_is_kept_holds_no_bytes_and_the_key_of_a_request_hangs_on_them() -> None:
    first, other = conversation("image/png"), conversation("image/png")
    other[-1]["content"][1] = Media(hashlib.sha256(b"anders").hexdigest(), "image/png", "/arbeit/x.png", b"anders")
    assert coded("image/png") not in json.dumps(first) and '"bytes": 12' in json.dumps(first)
    assert request_key("vlm", first, None, {}) == request_key("vlm", Conversation(conversation("image/png")), None, {})
    assert request_key("vlm", first, None, {}) != request_key("vlm", other, None, {})


@pytest.mark.parametrize("message, found", [
    ({"role": "user", "content": "x"}, []), ({"role": "user"}, []), ({"role": "user", "content": None}, []),
    ({"role": "user", "content": [{"type": "media", "mime": "image/png"}]}, []), (conversation("image/png")[-1],
                                                                               ["/arbeit/x.png"])])
def test_attachments_are_found_where_they_are(message: dict, found: list[str]) -> None:
    assert [one["path"] for one in media_in(message)] == found


@pytest.mark.parametrize("mime, modality, name", [("image/png", "image", "png"), ("audio/wav", "audio", "wav"),
                                                  ("audio/mpeg", "audio", "mp3"), ("audio/flac", "audio", "flac"),
                                                  ("video/mp4", "video", "mp4")])
def test_kinds_are_named_as_apis_name_them(mime: str, modality: str, name: str) -> None:
    one = Media("ab", mime, "/arbeit/x", b"1")
    assert (one.modality, one.format, one.uri) == (modality, name, f"data:{mime};base64,MQ==")
