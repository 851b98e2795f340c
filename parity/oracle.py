"""Makes the reference bundles of one (surface, fixture, seed): model, adapters, float32, truth."""

import shutil
import tempfile
from pathlib import Path

from parity import bundle, guard, settings
from parity.choices import check_choices
from parity.fixtures import make_batch
from parity.lift import double_copy
from parity.model import load_adapter, load_model, write_adapter, write_model
from parity.optimizer_alone import NEAR_ZERO, make_optimizer_bundle
from parity.training import PROFILES, STEPS, Runner, train

# stage of the command line -> (stage in reference.json, LoRA targets; None = the surface's own)
LORA_STAGES = {"lora": None, "lora-qv": ["q_proj", "v_proj"]}
LARGEST_TINY_NOISE = 1e-7
OPTIMIZER_STAGES = ("optimizer", NEAR_ZERO)
STAGES = ("base", *LORA_STAGES, *OPTIMIZER_STAGES)


class OracleError(RuntimeError):
    pass


def bundle_name(fixture, profile, stage, seed):
    return f"{fixture}-{profile}-{stage}-s{seed}"


def make_group(out, surface, fixture, seed, stages, profiles, fingerprint):
    """Writes out/<surface>/<bundle>/ for each stage and profile; returns their paths."""
    settings.check()
    with tempfile.TemporaryDirectory() as work:
        model_folder = Path(work) / "model"
        write_model(surface, fixture, seed, model_folder)
        made = []
        for stage in stages:
            facts = {
                "surface": surface.name, "family": surface.family, "fixture": fixture,
                "seed": seed, "oracle": guard.versions() | {"fingerprint": fingerprint},
            }
            group = _Group(Path(out) / surface.name, surface, fixture, seed, stage, facts)
            made += group.make(model_folder, Path(work), profiles)
    return made


class _Group:
    def __init__(self, folder, surface, fixture, seed, stage, facts):
        self.folder = folder
        self.surface = surface
        self.fixture = fixture
        self.seed = seed
        self.stage = stage
        self.facts = facts

    def make(self, model_folder, work, profiles):
        if self.stage in OPTIMIZER_STAGES:
            return [make_optimizer_bundle(self, model_folder, p) for p in profiles]
        batch = make_batch(self.surface, self.fixture, self.seed)
        model, adapter_folder = self._load(model_folder, work)
        frozen = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
        truth_model = double_copy(model)
        single = train(Runner(model, batch), profiles)
        truth = train(Runner(truth_model, batch, truth=True), profiles)
        self._check_frozen(model, frozen)
        folders = [model_folder] + ([adapter_folder] if adapter_folder else [])
        return [self._write(p, batch, folders, single[p], truth[p]) for p in profiles]

    def path(self, profile):
        return self.folder / bundle_name(self.fixture, profile, self.stage, self.seed)

    def common_facts(self, profile):
        optimizer = PROFILES[profile] | {"betas": list(PROFILES[profile]["betas"])}
        return self.facts | {
            "name": f"{self.surface.name}/{self.path(profile).name}",
            "stage": "lora" if self.stage in LORA_STAGES else "base",
            "profile": profile, "optimizer": optimizer,
        }

    def _load(self, model_folder, work):
        if self.stage not in LORA_STAGES:
            return load_model(model_folder), None
        targets = LORA_STAGES[self.stage] or self.surface.lora_targets
        adapter_folder = work / self.stage / "adapter"
        write_adapter(self.surface, self.seed, model_folder, targets, adapter_folder)
        return load_adapter(model_folder, adapter_folder), adapter_folder

    def _write(self, profile, batch, folders, single, truth):
        margins = [check_choices(a, b) for a, b in zip(single.choices, truth.choices)]
        facts = self.common_facts(profile) | {
            "steps": STEPS, "loss": single.losses, "truth_loss": truth.losses,
            "noise": bundle.noise(batch, single.tensors, truth.tensors),
        }
        if self.fixture == "tiny":
            self._check_conditioning(facts["noise"])
        if any(m is not None for m in margins):
            facts["margins"] = {"topk": min(m for m in margins if m is not None)}
        if batch.documents:
            facts |= {"packed": True, "documents": list(batch.documents)}
        with bundle.staged(self.path(profile)) as stage:
            for folder in folders:
                shutil.copytree(folder, stage / folder.name)
            bundle.write_tensors(stage, batch, single.tensors, truth.tensors)
            bundle.write_reference(stage, facts)
        return self.path(profile)

    def _check_conditioning(self, noise):
        """Gate 1 means something only where float32 itself is that exact."""
        for kind in ("logits", "grad"):
            if noise[kind] >= LARGEST_TINY_NOISE:
                raise OracleError(
                    f"{self.stage}: oracle noise in {kind} is {noise[kind]:.1e}, tiny fixtures have "
                    f"less than {LARGEST_TINY_NOISE:.0e}: re-condition it (parity/weights.py)"
                )

    def _check_frozen(self, model, frozen):
        moved = [n for n, p in model.named_parameters() if n in frozen and not p.equal(frozen[n])]
        if moved:
            raise OracleError(f"frozen parameters moved: {', '.join(moved)}")
