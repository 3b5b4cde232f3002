"""For `python -m pytest`, beside lit: the package of this tree, the library of build/ unless FA_BUILD names another folder, and
no tests of packages that are missing."""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path(os.environ.get("FA_BUILD", ROOT / "build")).resolve() / "lib"
NEEDED = {"dialects.py": ("jaxlib", "iree", "torch_mlir"), "jit.py": ("jax",), "jax_attention.py": ("jax",),
          "torch_attention.py": ("torch",), "torch_captures.py": ("torch",), "torch_compile.py": ("torch",), "torch_edges.py": ("torch",),
          "torch_flash_attn.py": ("torch",), "torch_flex.py": ("torch",), "torch_libraries.py": ("torch",),
          "torch_sdpa.py": ("torch",), "torch_transforms.py": ("torch",)}

sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PYTHONPATH", str(ROOT / "python"))
os.environ.setdefault("FA_MLIR_CACHE_DIR", "none")
for variable, name in (("COMPILER", "FA"), ("RUNTIME", "FARuntimeCUDA"), ("TORCH", "FATorch"), ("JAX", "FAJAX")):
    os.environ.setdefault(f"FA_{variable}_LIBRARY", str(LIBRARIES / f"lib{name}.so"))

collect_ignore = [name for name, packages in NEEDED.items() if not any(map(importlib.util.find_spec, packages))]
