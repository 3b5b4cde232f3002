"""Compiles what is derived for each default configuration of a chip, and holds it to static gates.

    default_configs.py FA_OPT CHIP HEAD_DIM...

For bf16 and f16, without and with a causal mask: `ptxas`, at the level that the compiler took, prints no message with
a number C75xx (products in a row, a dropped request for registers) and spills nothing; the registers of a thread are
all that the block leaves it where groups of warps trade them; the PTX has as many matrix instructions as the tiles of
the configuration ask for.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

REGISTERS = 65536
PROBLEM = """
!qkv = tensor<?x?x?x{head_dim}x{element}>
!lse = tensor<?x?x?xf32>
func.func @attention(%q: !qkv, %k: !qkv, %v: !qkv, %o: memref<?x?x?x{head_dim}x{element}>, %lse: memref<?x?x?xf32>) {{
  %o0 = bufferization.to_tensor %o restrict writable : memref<?x?x?x{head_dim}x{element}> to !qkv
  %l0 = bufferization.to_tensor %lse restrict writable : memref<?x?x?xf32> to !lse
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o0, %l0 : !qkv, !lse) {mask}
  bufferization.materialize_in_destination %r in restrict writable %o : (!qkv, memref<?x?x?x{head_dim}x{element}>) -> ()
  bufferization.materialize_in_destination %l in restrict writable %lse : (!lse, memref<?x?x?xf32>) -> ()
  return
}}
"""


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout + done.stderr


def find(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f"no '{pattern}'")
    return found


def number(key, text, default=None):
    found = re.search(rf"{key} = (\d+)", text)
    return int(found[1]) if found else default


def count_products(config, head_dim, mask):
    """Matrix instructions: those of a step, times the copies of the step in the text."""
    queries, keys = number("query_block", config), number("key_block", config)
    # The prologue or first block, the loop without a mask, one more for partial blocks; the step that is left between
    # tiles where they overlap.
    copies = 2 + bool(mask) + ("overlap = tiles" in config)
    if "warp_groups" in config:
        return copies * (head_dim // 16 + keys // 16)
    tiles_of_warp = queries // 64
    return copies * tiles_of_warp * (keys // 8 * head_dim // 16 + head_dim // 8 * keys // 16)


def compile_kernels(chip, problem):
    """The module of a problem, its PTX, and the level of ptxas."""
    module = run([FA_OPT, "-", f"--fa-to-ptx=chip={chip} format=both"], problem)
    if "ptxas does not do what the kernel says" in module:
        raise RuntimeError(find(r"ptxas does not do .*", module)[0])
    escaped = find(r'assembly = "((?:[^"\\]|\\.)*)"', module)[1]
    ptx = re.sub(r"\\([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), escaped).rstrip("\0")
    return module, ptx, find(r"assembler_level = (\d)", module)[1]


def check_kernel(config, ptx, metadata, head_dim, mask):
    """What is wrong with one kernel of PTX and its metadata; and its figures."""
    problems = []
    registers, stores, loads = (int(find(rf"\b{key} = (\d+) : i64", metadata)[1]) for key in ("registers", "spill_stores", "spill_loads"))
    if stores or loads:
        problems.append(f"spills {stores} bytes of stores and {loads} of loads")
    has_groups = "warp_groups" in config
    if has_groups:
        threads = int(find(r"\.maxntid (\d+)", ptx)[1])
        share = REGISTERS // threads // 8 * 8
        if registers != share:
            problems.append(f"has {registers} registers at launch, expected {share} to trade")
        # A group of four warps copies, the others compute, and none waits for registers that nobody gives back.
        copying, computing = (int(find(rf"setmaxnreg\.{direction}\.sync\.aligned\.u32\s+(\d+)", ptx)[1])
                              for direction in ("dec", "inc"))
        if copying * 128 + computing * (threads - 128) > registers * threads:
            problems.append(f"trades {copying} and {computing} registers at {registers} a thread")
    instruction = r"wgmma\.mma_async\.sync" if has_groups else r"mma\.sync\.aligned"
    products, expected = len(re.findall(instruction, ptx)), count_products(config, head_dim, mask)
    if products != expected:
        problems.append(f"has {products} matrix instructions, expected {expected}")
    return f"{registers} registers, {products} products, {config}", problems


def check(chip, head_dim, mask, element):
    """Figures and problems of all kernels: there is one for each length that has a configuration."""
    module, ptx, level = compile_kernels(chip, PROBLEM.format(head_dim=head_dim, mask=mask, element=element))
    figures, problems = [f"-O{level}"], []
    for metadata in re.split(r"#gpu\.kernel_metadata<", module)[1:]:
        name = find(r'"([^"]+)"', metadata)[1]
        config = find(r"fa\.config = (#fa\.config<.*?>>)", metadata)[1]
        of_kernel = find(rf"\.entry {name}\([\s\S]*?(?=\.entry |\Z)", ptx)[0]
        more, wrong = check_kernel(config, of_kernel, metadata, head_dim, mask)
        figures.append(more)
        problems += wrong
    return "; ".join(figures), problems


def main():
    jobs = [(CHIP, int(head_dim), mask, element) for head_dim in sys.argv[3:] for mask in ("", "mask causal")
            for element in ("bf16", "f16")]
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for job, result in [(job, pool.submit(check, *job)) for job in jobs]:
            name = f"{job[0]} head dim {job[1]} {'causal' if job[2] else 'full'} {job[3]}"
            try:
                figures, problems = result.result()
                print(f"{name}: {'; '.join(problems) or 'ok'} ({figures})")
            except RuntimeError as error:
                problems = [error]
                print(f"{name}: {error}")
            failed += bool(problems)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return 1 if failed else 0


FA_OPT, CHIP = sys.argv[1:3]
sys.exit(main())
