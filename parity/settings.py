"""The oracle's fixed settings: one place that sets them and one that checks they hold.

`prepare_environment` must run before torch is imported; `enforce` right after. Whatever could make
Transformers choose another code path (kernels from a hub, a cache, grouped experts, TF32, several
threads) is either off here or an error.
"""

import importlib.util
import os
import sys
import warnings

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "USE_HUB_KERNELS": "NO",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}

# Importable, any of these would silently replace the torch code that defines the mathematics.
KERNEL_PACKAGES = (
    "kernels", "fla", "causal_conv1d", "mamba_ssm", "flash_attn", "flash_attn_3", "xformers",
    "liger_kernel", "apex", "bitsandbytes", "deepspeed", "flash_mla", "deep_gemm", "sonicmoe",
)

MODEL_OPTIONS = {"attn_implementation": "eager", "experts_implementation": "eager"}


class SettingsError(RuntimeError):
    pass


def prepare_environment():
    if "torch" in sys.modules:
        raise SettingsError("torch is imported already; prepare_environment() must come first")
    os.environ.update(ENVIRONMENT)
    refuse_kernel_packages()


def refuse_kernel_packages():
    found = [name for name in KERNEL_PACKAGES if importlib.util.find_spec(name) is not None]
    if found:
        raise SettingsError(
            f"optional kernel packages are importable: {', '.join(found)}; they replace the torch "
            "code of the reference. Use the environment that scripts/oracle-env makes."
        )


def enforce():
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    warnings.simplefilter("ignore", FutureWarning)  # of Transformers' own internals
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.set_flush_denormal(False)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.use_deterministic_algorithms(True)
    check()


def check():
    import torch

    wanted = {
        "one thread": torch.get_num_threads() == 1,
        "float32 as the default dtype": torch.get_default_dtype() == torch.float32,
        "full float32 matmul precision": torch.get_float32_matmul_precision() == "highest",
        "TF32 off (matmul)": not torch.backends.cuda.matmul.allow_tf32,
        "TF32 off (cudnn)": not torch.backends.cudnn.allow_tf32,
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
    }
    broken = [name for name, holds in wanted.items() if not holds]
    if broken:
        raise SettingsError(f"oracle settings do not hold: {', '.join(broken)}")


def check_model(model):
    """The model runs eager attention, eager experts, no cache and no dropout, in every config."""
    for config in _configs(model):
        _expect(config, "_attn_implementation", "eager")
        _expect(config, "_experts_implementation", "eager")
        _expect(config, "use_cache", False)
        for key, value in config.to_dict().items():
            if key.endswith(("dropout", "jitter_noise")) and value:
                raise SettingsError(f"config.{key} is {value}; the oracle runs without randomness")


def _configs(model):
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return [c for c in configs.values() if hasattr(c, "_attn_implementation")]


def _expect(config, key, wanted):
    got = getattr(config, key, wanted)
    if got != wanted:
        raise SettingsError(f"config.{key} is {got!r}, the oracle needs {wanted!r}")
