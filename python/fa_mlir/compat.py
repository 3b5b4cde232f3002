"""Puts fa_mlir under the names of other packages, on request only."""

from __future__ import annotations

import sys

from . import flash_attn, flash_attn_interface


def install_flash_attn() -> None:
    """`import flash_attn`, `flash_attn.flash_attn_interface` and FlashAttention-3's
    `flash_attn_interface` give fa_mlir's functions from now on in this process.

    Raises RuntimeError where the packages themselves are imported already.
    """
    modules = {"flash_attn": flash_attn, "flash_attn.flash_attn_interface": flash_attn,
               "flash_attn_interface": flash_attn_interface}
    for name, module in modules.items():
        if sys.modules.get(name, module) is not module:
            raise RuntimeError(f"module '{name}' is imported already: install before it is")
    sys.modules.update(modules)
