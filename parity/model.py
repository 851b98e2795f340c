"""Models of a surface: written once as a Hugging Face folder, always loaded from that folder."""

import json

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.core_model_loading import revert_weight_conversion

from parity import settings, weights
from parity.fixtures import SIZE_OF

LARGEST_MODEL = 300_000
LORA_RANK = 4
LORA_ALPHA = 8


def write_model(surface, fixture, seed, folder):
    """save_pretrained of the surface's random model; old-style config.json where asked."""
    config = AutoConfig.for_model(
        surface.family, use_cache=False, dtype=surface.stored, **surface.config_for(SIZE_OF[fixture])
    )
    model = AutoModelForCausalLM.from_config(config, **settings.MODEL_OPTIONS)
    count = sum(p.numel() for p in model.parameters())
    if count > LARGEST_MODEL:
        raise ValueError(f"{surface.name} {fixture}: {count} parameters, limit {LARGEST_MODEL}")
    weights.fill(model, surface, seed)
    model.to(getattr(torch, surface.stored))
    model.save_pretrained(folder)
    if surface.legacy_config:
        _write_legacy_config(folder / "config.json", surface, SIZE_OF[fixture])
    _check_disk_names(load_model(folder), folder)


def load_model(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32", **settings.MODEL_OPTIONS)
    settings.check_model(model)
    return model.train()


def write_adapter(surface, seed, model_folder, targets, folder):
    model = get_peft_model(load_model(model_folder), LoraConfig(
        r=LORA_RANK, lora_alpha=LORA_ALPHA, target_modules=targets, task_type="CAUSAL_LM",
    ))
    weights.fill(model, surface, seed, only_trainable=True)
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    _make_adapter_config_portable(folder / "adapter_config.json")


def load_adapter(model_folder, adapter_folder):
    model = PeftModel.from_pretrained(load_model(model_folder), adapter_folder, is_trainable=True)
    settings.check_model(model)
    return model.train()


def disk_tensors(model, tensors):
    """Renames and splits tensors, keyed by parameter name, as saving does with the weights."""
    if isinstance(model, PeftModel):
        return get_peft_model_state_dict(model, state_dict=tensors)
    return revert_weight_conversion(model, dict(tensors))


def reset_rope(model):
    """Dynamic RoPE remembers the longest row it saw; every run starts from the initial state."""
    for module in model.modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            if name.endswith("original_inv_freq"):
                setattr(module, name.replace("original_", ""), buffer.clone())
        if hasattr(module, "original_max_seq_len") and hasattr(module, "max_seq_len_cached"):
            module.max_seq_len_cached = module.original_max_seq_len


def _check_disk_names(model, folder):
    """`disk_tensors` gives, for the weights themselves, exactly what save_pretrained wrote."""
    saved = load_file(folder / "model.safetensors")
    ours = disk_tensors(model, {n: p.detach() for n, p in model.named_parameters()})
    if sorted(saved) != sorted(ours):
        names = ", ".join(sorted(saved.keys() ^ ours.keys()))
        raise RuntimeError(f"names differ from the saved file: {names}")
    for name, tensor in saved.items():
        if not torch.equal(tensor.float(), ours[name]):
            raise RuntimeError(f"{name} differs from the saved file")


def _write_legacy_config(path, surface, size):
    """rope_theta and rope_scaling instead of rope_parameters, no layer_types that were not given, and
    the keys exactly as given."""
    config = json.loads(path.read_text())
    given = dict(surface.config_for(size))
    rope = dict(config.pop("rope_parameters"))
    given.pop("rope_parameters", None)
    config.pop("layer_types", None)
    config.update(given)
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def _make_adapter_config_portable(path):
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = None
    for key in ("target_modules", "modules_to_save", "target_parameters"):
        if isinstance(config.get(key), list):
            config[key] = sorted(config[key])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
