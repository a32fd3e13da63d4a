"""A tiny, randomly initialised Hugging Face model with a ChatML tokenizer, made on the spot without any download."""
import sys
from pathlib import Path

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""ChatML turns; `message['content']` must be a string."""

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TRAINING_TEXT = [
    "Wie ist die Luftqualität in Köln? Welche Straßen sind in München gesperrt?",
    '[{"name": "get_air_quality", "arguments": {"city": "koeln"}}]',
]


def make_tiny_model(directory: str | Path, context: int = 16384, seed: int = 0) -> Path:
    """Write a 2-layer Llama with random weights and its byte-level tokenizer to `directory` and return that path.

    context: longest input plus output, in tokens; byte-level text costs about one token a byte, so 12,000 bytes of
    tools need more than 12,000 tokens. The model is a function of `seed` and of the installed library versions: it
    answers nonsense, the same nonsense each time. Needs torch, transformers and tokenizers; touches no network.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    path = Path(directory)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    end_of_text, _, end_of_turn = SPECIAL_TOKENS
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=end_of_turn, pad_token=end_of_text, model_max_length=context
    )
    fast.chat_template = CHATML
    fast.save_pretrained(path)

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context,
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
        tie_word_embeddings=False,  # tied weights would make it repeat the last prompt token
        initializer_range=0.3,  # large enough that the reply depends on the prompt
    )
    LlamaForCausalLM(config).eval().save_pretrained(path)
    return path


if __name__ == "__main__":
    print(make_tiny_model(sys.argv[1]))
