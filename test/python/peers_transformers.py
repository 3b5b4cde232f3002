"""Runs transformers' own model tests on tiny random models, with fa_mlir for its attention.

    python test/python/peers_transformers.py
    python test/python/peers_transformers.py --model GptOss --only 'eager_matches|training'

The tests are those of tests/test_modeling_common.py in the source package of the version
that is installed, fetched when this runs and kept nowhere; --folder names a copy that is
there already. There "sdpa" means fa_mlir, so that tests which compare it with "eager" compare
the two, and the others run on it. flash_attn_inference_equivalence is asked of "fa_mlir"
itself. The configurations are this file's: the package has no tests of single models.
A test that meets an UnsupportedError is counted by its argument. Needs pytest,
parameterized and accelerate. The last lines have the counts of each model.
"""

import argparse
import collections
import sys
import tempfile
from pathlib import Path

import pytest
import torch
import transformers

import fa_mlir
from peers import Sample, fetch

# torch's grouped_mm, which GPT-OSS's experts call, asks for rows of a multiple of 16 bytes.
SIZES = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2}
KINDS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4}
MODELS = {"Llama": ("LlamaConfig", {}), "Qwen3": ("Qwen3Config", {}), "Gemma2": ("Gemma2Config", KINDS),
          "Gemma3": ("Gemma3TextConfig", KINDS),
          "GptOss": ("GptOssConfig", dict(KINDS, num_local_experts=4, num_experts_per_tok=2))}
CLASSES = {"Gemma3": ("Gemma3TextModel", "Gemma3ForCausalLM")}
TESTS = '''
import unittest

import peers_transformers
from .test_modeling_common import ModelTesterMixin, ids_tensor, random_attention_mask


class Tester(peers_transformers.Tester):
    make_ids, make_mask = staticmethod(ids_tensor), staticmethod(random_attention_mask)


class Common(ModelTesterMixin):
    def setUp(self):
        self.model_tester = Tester(self.model)
        self.all_model_classes = self.model_tester.classes

    def test_fa_mlir_inference_equivalence(self):
        self.flash_attn_inference_equivalence("fa_mlir", padding_side="left")

    def test_fa_mlir_inference_equivalence_right_padding(self):
        self.flash_attn_inference_equivalence("fa_mlir", padding_side="right")


for name in peers_transformers.chosen:
    globals()[name] = type(name, (Common, unittest.TestCase), {"model": name,
                           "all_model_classes": peers_transformers.Tester(name).classes})
'''
# Bases of the file's that test generation and export, which the source package lacks.
MISSING = {"generation/test_utils.py": "GenerationTesterMixin", "exporters/test_export.py": "ExportTesterMixin"}
chosen = list(MODELS)
calls = 0


class Tester:
    """What transformers' tests ask of a model."""

    batch_size, seq_length, is_training = 3, 7, True

    def __init__(self, name):
        config, more = MODELS[name]
        self.options = {**SIZES, **more}
        self.config_class = getattr(transformers, config)
        names = CLASSES.get(name, (f"{name}Model", f"{name}ForCausalLM"))
        self.classes = tuple(getattr(transformers, each) for each in names)
        self.__dict__.update({key: value for key, value in self.options.items() if isinstance(value, int)})

    def get_config(self):
        return self.config_class(**self.options)

    def prepare_config_and_inputs_for_common(self):
        ids = self.make_ids([self.batch_size, self.seq_length], self.options["vocab_size"])
        return self.get_config(), {"input_ids": ids, "attention_mask": self.make_mask([self.batch_size, self.seq_length])}


class Models(Sample):
    """Counts by model too."""

    # Asks that a model's tests include those of generation, which the source package lacks.
    left_out = "generation_tester_mixin_inheritance"

    def __init__(self, options):
        super().__init__(options)
        self.models = collections.Counter()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        before = collections.Counter(self.counts)
        # The counts of the other hook, which wraps this one or is wrapped by it.
        outcome = yield from super().pytest_runtest_makereport(item, call)
        for name, count in (self.counts - before).items():
            self.models[item.cls.__name__, name] += count
        return outcome


def install():
    """fa_mlir under its own name and under that of torch's, counted. It has the soft caps and
    sinks for which Gemma 2 and GPT-OSS refuse torch's."""
    from fa_mlir import hf

    forward = hf.forward

    def counted(*args, **named):
        global calls
        calls += 1
        return forward(*args, **named)

    hf.forward = counted
    hf.register()
    hf.register("sdpa")
    for name in chosen:
        for model in Tester(name).classes:
            model._supports_sdpa = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="a copy of the source package, else it is fetched")
    parser.add_argument("--model", choices=MODELS, action="append", help="one of the models, else all")
    parser.add_argument("--only", default="eager_matches|inference_equivalence", help="a regular expression of names")
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--without", action="store_true", help="run on transformers' own attention, to compare failures")
    options = parser.parse_args()
    options.most_rows, options.share, options.seconds, options.pieces = 1 << 30, "0/1", None, None
    chosen[:] = options.model or chosen
    # The file of tests imports this one.
    sys.modules["peers_transformers"] = sys.modules["__main__"]
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, fa_mlir {fa_mlir.__file__}")
    if not options.without:
        install()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or fetch("transformers", transformers.__version__, temporary)).resolve()
        for path, name in MISSING.items():
            file = folder / "tests" / path
            if not file.exists():
                file.parent.mkdir(exist_ok=True)
                (file.parent / "__init__.py").touch()
                file.write_text(f"class {name}:\n    pass\n")
        (folder / "tests" / "__init__.py").touch()
        tests = folder / "tests" / "test_fa_mlir.py"
        tests.write_text(TESTS)
        sys.path.insert(0, str(folder))
        models = Models(options)
        status = pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "--disable-warnings", "-c", "/dev/null",
                              "--rootdir", str(folder), "--import-mode=importlib", str(tests)], plugins=[models])
    for name, count in models.unsupported.most_common():
        print(f"  unsupported, {name}: {count}")
    for name in chosen:
        print(f"  {name}: " + ", ".join(f"{models.models[name, kind]} {kind}" for kind in
                                        ("passed", "unsupported", "skipped", "failed")))
    counts = models.counts
    print(f"{sum(counts.values())} tests, {calls} attentions: {counts['passed']} passed, {counts['unsupported']} "
          f"unsupported, {counts['skipped']} skipped, {counts['failed']} failed")
    return counts["failed"] > 0 or not (calls or options.without) or not counts["passed"] or status not in (0, 5)


if __name__ == "__main__":
    sys.exit(main())
