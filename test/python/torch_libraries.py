# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""Libraries whose attention fa_mlir takes: xformers, diffusers, transformers. One class for each,
skipped without it.

`XFormers` has its masks, `Diffusers` and `Transformers` tiny random models, against the library's own attention.
"""

import copy
import importlib.util
import itertools
import unittest
from unittest import mock

import torch

import fa_mlir
from torch_numbers import SEED, relative_error


def count_compiled():
    """Kernels that were made or found on disk."""
    return fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]


@unittest.skipUnless(importlib.util.find_spec("xformers"), "no xformers")
class XFormers(unittest.TestCase):
    """Each of its masks, by what it is as a tensor."""

    def check(self, mask, query, key, value, packed=False):
        from fa_mlir.xformers import memory_efficient_attention

        got = memory_efficient_attention(query, key, value, mask)
        bias = mask.materialize((query.shape[1], key.shape[1])).double()
        scores = query.double().transpose(1, 2) @ key.double().permute(0, 2, 3, 1) / query.shape[-1] ** 0.5 + bias
        expected = (scores.softmax(-1).nan_to_num(0) @ value.double().transpose(1, 2)).transpose(1, 2)
        self.assertLess(relative_error(got, expected), 2e-6, type(mask).__name__)

    def test_masks(self):
        from xformers.ops.fmha import attn_bias as masks

        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 4, 16), torch.randn(2, 13, 4, 16)
        for mask in (masks.LowerTriangularMask(), masks.LowerTriangularFromBottomRightMask(),
                     masks.LowerTriangularFromBottomRightLocalAttentionMask(4),
                     masks.LocalAttentionFromBottomRightMask(window_left=3, window_right=2),
                     masks.LowerTriangularMaskWithTensorBias(torch.randn(2, 4, 9, 13))):
            self.check(mask, query, key, value)
        lengths, key_lengths = [3, 5, 1], [4, 7, 3]
        packed = [torch.randn(1, 9, 4, 16), torch.randn(1, 14, 4, 16), torch.randn(1, 14, 4, 16)]
        mask = masks.BlockDiagonalMask.from_seqlens(lengths, key_lengths, device=torch.device("cpu"))
        for each in (mask, mask.make_causal(), mask.make_causal_from_bottomright(), mask.make_local_attention(3),
                     mask.make_local_attention_from_bottomright(3)):
            self.check(each, *packed)
        padded = [torch.randn(1, 9, 4, 16), torch.randn(1, 24, 4, 16), torch.randn(1, 24, 4, 16)]
        for kind in (masks.BlockDiagonalPaddedKeysMask, masks.BlockDiagonalCausalWithOffsetPaddedKeysMask):
            self.check(kind.from_seqlens(lengths, 8, key_lengths, device=torch.device("cpu")), *padded)
        self.check(masks.BlockDiagonalCausalLocalAttentionPaddedKeysMask.from_seqlens_local(
            q_seqlen=lengths, kv_padding=8, kv_seqlen=key_lengths, window_size=3), *padded)
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'attn_bias' is a BlockDiagonalGappyKeysMask"):
            self.check(masks.BlockDiagonalGappyKeysMask.from_seqlens(
                q_seqlen=lengths, kv_seqstarts=[0, 8, 16, 24], kv_seqlen=key_lengths,
                device=torch.device("cpu")), *padded)

    def test_pages(self):
        from fa_mlir.xformers import memory_efficient_attention
        from xformers.ops.fmha import attn_bias as masks

        table = torch.randperm(6).reshape(3, 2).int()
        dense = masks.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2, 1, 2], 16, [9, 16, 3], device=torch.device("cpu"))
        query, pages = torch.randn(1, 5, 4, 16), torch.randn(6, 8, 4, 16)
        flat = pages.reshape(1, 48, 4, 16)
        gathered = pages[table.long()].reshape(1, 48, 4, 16)
        self.assertLess(relative_error(
            memory_efficient_attention(query, flat, flat, dense.make_paged(
                table, 8, masks.PagedBlockDiagonalCausalWithOffsetPaddedKeysMask)),
            memory_efficient_attention(query, gathered, gathered, dense)), 1e-6)

    def test_shapes(self):
        from fa_mlir.xformers import memory_efficient_attention

        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 2, 16), torch.randn(2, 13, 2, 16)
        grouped = memory_efficient_attention(query.reshape(2, 9, 2, 2, 16), *[
            tensor[:, :, :, None].expand(2, 13, 2, 2, 16) for tensor in (key, value)], scale=0.3)
        self.assertTrue(torch.equal(grouped.flatten(2, 3), fa_mlir.attention(query, key, value, scale=0.3)))
        one = memory_efficient_attention(query[:, :, 0], key[:, :, 0], value[:, :, 0], output_dtype=torch.float64)
        self.assertEqual((one.shape, one.dtype), ((2, 9, 16), torch.float64))


@unittest.skipUnless(importlib.util.find_spec("diffusers"), "no diffusers")
class Diffusers(unittest.TestCase):
    def test_backend(self):
        from diffusers.models import attention_dispatch as dispatch

        fa_mlir.diffusers.register()
        fa_mlir.diffusers.register()
        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 4, 16), torch.randn(2, 13, 4, 16)
        for mask in None, torch.rand(2, 13) < 0.8, torch.randn(2, 1, 9, 13):
            with dispatch.attention_backend("fa_mlir"):
                with mock.patch.object(dispatch._AttentionBackendRegistry, "_checks_enabled", True):
                    got = dispatch.dispatch_attention_fn(query, key, value, attn_mask=mask, scale=0.2)
            self.assertLess(relative_error(got, dispatch.dispatch_attention_fn(query, key, value, attn_mask=mask, scale=0.2)),
                            2e-6)

    def test_model(self):
        """A tiny transformer of images: its output, and gradients of its weights."""
        import diffusers

        torch.manual_seed(SEED)
        model = diffusers.FluxTransformer2DModel(
            patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
            joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=[4, 4, 8])
        inputs = dict(hidden_states=torch.randn(1, 16, 4), encoder_hidden_states=torch.randn(1, 8, 32),
                      pooled_projections=torch.randn(1, 32), img_ids=torch.randn(16, 3), txt_ids=torch.randn(8, 3),
                      timestep=torch.tensor([1.0]))
        found = []
        fa_mlir.diffusers.register()
        for name in "native", "fa_mlir":
            model.set_attention_backend(name)
            model.zero_grad()
            output = model(**inputs).sample
            output.square().sum().backward()
            found.append([output, *[parameter.grad for parameter in model.parameters() if parameter.grad is not None]])
        for one, other in zip(*found):
            self.assertLess(float((one - other).norm()), 2e-5 * max(1.0, float(other.norm())))


def make_models():
    """Random ones, tiny: (name, configuration)."""
    import transformers as t

    common = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, head_dim=16, max_position_embeddings=128, pad_token_id=0, bos_token_id=1,
                  eos_token_id=2)
    yield "Llama", t.LlamaConfig(**common)
    yield "Qwen3", t.Qwen3Config(**common)
    yield "Gemma 2", t.Gemma2Config(**common, sliding_window=6, query_pre_attn_scalar=16, attn_logit_softcapping=3.0)
    yield "Gemma 3", t.Gemma3TextConfig(**common, sliding_window=6, query_pre_attn_scalar=16,
                                        layer_types=["sliding_attention", "full_attention"])
    yield "GPT-OSS", t.GptOssConfig(**common, sliding_window=6, num_local_experts=2, num_experts_per_tok=1,
                                    layer_types=["sliding_attention", "full_attention"])


@unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
class Transformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import transformers

        fa_mlir.hf.register()
        cls.auto = transformers.AutoModelForCausalLM

    def make(self, config):
        models = []
        for name in "eager", "fa_mlir":
            torch.manual_seed(SEED)
            # A model writes into its configuration which attention it has.
            models.append(self.auto.from_config(copy.deepcopy(config), attn_implementation=name).to(torch.float32).eval())
        for parameter, other in zip(*[model.parameters() for model in models]):
            other.data.copy_(parameter.data)
        return models

    def test_models(self):
        for name, config in make_models():
            with self.subTest(name):
                eager, ours = self.make(config)
                tokens = torch.randint(3, 64, (2, 19))
                padding = torch.ones_like(tokens)
                padding[0, :5] = 0
                for mask in None, padding:
                    right, got = (model(tokens, attention_mask=mask).logits for model in (eager, ours))
                    shown = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask.bool()
                    self.assertLess(relative_error(got[shown], right[shown]), 2e-5)
                    torch.compiler.reset()
                    compiled = torch.compile(ours, fullgraph=True, backend="eager")(tokens, attention_mask=mask).logits
                    self.assertLess(relative_error(compiled[shown], right[shown]), 2e-5)
                for model in eager, ours:
                    model.zero_grad()
                    model(tokens, labels=tokens).loss.backward()
                for (parameter, one), two in zip(ours.named_parameters(), eager.parameters()):
                    if two.grad is not None:
                        self.assertLess(float((one.grad - two.grad).norm()), 2e-4 * max(float(two.grad.norm()), 1e-3),
                                        parameter)
                for options in {}, {"attention_mask": padding}, {"cache_implementation": "static"}:
                    right, got = (model.generate(tokens, max_new_tokens=8, do_sample=False, **options)
                                  for model in (eager, ours))
                    self.assertTrue(torch.equal(got, right), (options, got, right))

    def test_static_caches(self):
        """Prefill, steps and a later chunk, whose mask is made before each cache counts its new tokens."""
        import transformers

        for name, config in make_models():
            # Nothing ends a request but its length.
            config.eos_token_id = None
            tokens = torch.randint(3, 64, (2, 19))
            padding = torch.ones_like(tokens)
            padding[0, :3] = 0
            eager, ours = self.make(config)
            ways = ("eager", "compiled") if name in ("Llama", "Gemma 2") else ("eager",)
            for mask, way in itertools.product((None, padding), ways):
                torch.compiler.reset()
                run = ours if way == "eager" else torch.compile(ours, fullgraph=True, backend="eager")
                caches = [transformers.StaticCache(config, max_cache_len=24) for _ in range(2)]
                for start, end in (0, 11), (11, 12), (12, 13), (13, 17), (17, 18), (18, 19):
                    seen = None if mask is None else mask[:, :end]
                    # A cache makes its memory in its first call, which is not compiled.
                    right, got = (model(tokens[:, start:end], past_key_values=cache, attention_mask=seen).logits
                                  for model, cache in zip((eager, run if start else ours), caches))
                    shown = slice(None) if mask is None else mask[:, start:end].bool()
                    with self.subTest(name, mask=mask is not None, way=way, start=start):
                        self.assertLess(relative_error(got[shown], right[shown]), 2e-5)
            with self.subTest(name, generate=True):
                right, got = (model.generate(tokens, max_new_tokens=8, do_sample=False, cache_implementation="static")
                              for model in (eager, ours))
                self.assertTrue(torch.equal(got, right), (got, right))

    def test_masks_that_models_ask(self):
        """GPT-2 asks what generate() made of a mask for its rank."""
        import transformers

        eager, ours = self.make(transformers.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                                        bos_token_id=1, eos_token_id=None))
        tokens = torch.randint(3, 64, (2, 11))
        for options in {}, {"cache_implementation": "static"}:
            right, got = (model.generate(tokens, max_new_tokens=8, do_sample=False, **options) for model in (eager, ours))
            self.assertTrue(torch.equal(got, right), (options, got, right))

    def test_continuous_batching(self):
        """Requests of different lengths, in one cache of pages: the tokens that each has alone."""
        import transformers

        options = transformers.GenerationConfig(max_new_tokens=8, do_sample=False, pad_token_id=0)
        requests = [torch.randint(3, 64, (length,)) for length in (5, 17, 9, 30, 2)]
        sizes = transformers.ContinuousBatchingConfig(num_blocks=16, block_size=16, max_batch_tokens=64)
        for name, config in make_models():
            with self.subTest(name):
                # Nothing ends a request but its length.
                config.eos_token_id = None
                eager, ours = self.make(config)
                try:
                    found = ours.generate_batch(inputs=[tokens.tolist() for tokens in requests], generation_config=options,
                                                continuous_batching_config=sizes)
                except ValueError as error:
                    if "fa_mlir is not supported for continuous batching" not in str(error):
                        raise
                    self.skipTest(f"transformers {transformers.__version__} batches with its own attention alone")
                got = [found[key].generated_tokens for key in sorted(found, key=lambda key: int(key.split("_")[-1]))]
                right = [eager.generate(tokens[None], generation_config=options)[0, len(tokens):].tolist()
                         for tokens in requests]
                self.assertEqual(got, right)

    def test_lengths_do_not_compile(self):
        _, ours = self.make(next(make_models())[1])
        def run(batch, length):
            ours.generate(torch.randint(3, 64, (batch, length)), max_new_tokens=5, do_sample=False)
        run(2, 9)
        before = count_compiled()
        run(3, 17)
        run(2, 40)
        self.assertEqual(count_compiled(), before)


if __name__ == "__main__":
    unittest.main()
