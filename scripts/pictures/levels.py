"""The levels of the IR, with the passes between them; each pass must be one of the pipelines'."""

from svg import BLUE, GREEN, GREY, ORANGE, SKY, Picture

# Level, what the text looks like, and the pass that leads on from it.
COMMON = (
    ("0  problem", "%o = fa.attention ins(%q, %k, %v) outs(%init) mask causal", ("fa-select-config",)),
    ("1  configured", "fa.attention ... {config = #fa.config<query_block = 64, ...>}", ("fa-tile", "fa-convert-to-online", "fa-specialize-mask")),
    ("2  tiled", "fa.key_ranges [full 0 to %d, partial %d to %e] { fa.online_attention }", ()),
)
CPU = (
    ("3C  CPU block", "vectors and register tiles, one loop a key range", ("fa-vectorize-lanes",)),
    ("LLVM", "JIT, or an object file", ()),
)
GPU = (
    ("3G  GPU block", "block values without a layout", ("fa-form-segments", "fagpu-infer-layouts")),
    ("4  GPU schedule", "roles, channels, stages and orders", ("fagpu-pipeline",)),
    ("5  threads", "gpu, nvvm and llvm", ()),
    ("6  PTX, cubin", "and a launcher", ()),
)


def check_passes(tools):
    """A pass that no pipeline has any more must not stay in the picture."""
    pipelines = "".join(tools.run("fa-opt", "-", f"--{pipeline}", "--dump-pass-pipeline", text="module {}", both=True)
                        for pipeline in ("fa-to-cpu", "fa-to-schedule", "fagpu-plan"))
    for _, _, passes in COMMON + CPU + GPU:
        for name in passes:
            if name not in pipelines:
                raise ValueError(f"no pipeline has the pass '{name}'")


def draw_column(picture, x, y, width, levels, fill):
    for name, text, passes in levels:
        picture.box(x, y, width, 50, fill)
        picture.words(x + 12, y + 21, name, bold=True)
        picture.words(x + 12, y + 40, text, size=11.5, mono=True)
        if passes or levels[-1][0] != name:
            picture.arrow(x + 40, y + 50, x + 40, y + 84)
            picture.words(x + 54, y + 71, ", ".join(passes), size=11.5, mono=True)
        y += 84
    return y


def draw(tools):
    check_passes(tools)
    picture = Picture(780, 640, "Levels of the IR from a problem to machine code")
    y = draw_column(picture, 120, 20, 560, COMMON, SKY)
    for x in (150, 550):
        picture.arrow(x, y - 34, x, y + 6)
    draw_column(picture, 20, y + 6, 360, CPU, "#f7d9a0")
    draw_column(picture, 410, y + 6, 350, GPU, "#b7e0d2")
    return picture
