"""Shared memory of a kernel: what `fagpu-plan` gives each channel, in bytes from the start."""

import re

from svg import BLUE, GREEN, GREY, INK, ORANGE, ROSE, SKY, Picture

CHANNEL = re.compile(r"(%\w+) = fagpu\.channel (\w+)(?: banks\((\d+)\))? offset\((\d+)\).*: <(\d+)x(\d+)x\w*?(\d+), .*, (\d+)>")
PUT = re.compile(r"fagpu\.put (%\w+)(?: bank\(%\w+\))?, %arg(\d)\[")
STORE = re.compile(r"fagpu\.store .*via\((%\w+) ")
MAIL = re.compile(r"fagpu\.mail offset\((\d+)\)")
LIMIT = 232448
WIDTH = 900


def get_channels(plan):
    """(name, offset, bytes, stages) of each channel, by what is copied to it."""
    operands = {channel: ("query", "keys", "values")[int(number)] for channel, number in PUT.findall(plan)}
    operands.update({channel: "output" for channel in STORE.findall(plan)})
    found = []
    for name, _, banks, offset, rows, columns, bits, stages in CHANNEL.findall(plan):
        count = int(banks or 1) * int(stages)
        found.append((operands[name], int(offset), count * int(rows) * int(columns) * int(bits) // 8, count,
                      f"{rows} x {columns}"))
    return found


def draw(tools):
    plan = tools.run("fa-opt", "-", "--pass-pipeline=builtin.module(fagpu-plan)", text=tools.schedule)
    channels = get_channels(plan)
    mail = int(MAIL.search(plan)[1])
    picture = Picture(1000, 220, "Shared memory of a kernel for attention of head dim 64")
    picture.words(40, 30, "Shared memory of one block: causal, bf16, head dim 64, sm_90a", bold=True, size=15)
    scale = WIDTH / LIMIT
    for (name, offset, size, count, tile), fill in zip(channels, (SKY, BLUE, GREEN, ORANGE)):
        x, width = 40 + offset * scale, size * scale
        for stage in range(count):
            picture.box(x + width / count * stage, 60, width / count, 60, fill)
        colour = "#ffffff" if fill in (BLUE, GREEN) else INK
        picture.words(x + width / 2, 86, name, anchor="middle", colour=colour, bold=True)
        picture.words(x + width / 2, 105, f"{count} of {tile}", 11, "middle", colour)
        picture.words(x, 138, f"{offset:,}", size=11)
    picture.box(40 + mail * scale, 60, max(3, 400 * scale), 60, ROSE)
    picture.box(40, 60, WIDTH, 60, "none", INK)
    picture.words(40 + mail * scale, 156, f"{mail:,}: message slots and barriers", size=11, anchor="end")
    picture.words(40 + WIDTH, 138, f"{LIMIT:,} bytes", size=11, anchor="end")
    picture.words(40, 190, "Each box is a stage: a tile that the producer warp fills while the consumer warpgroups read another one. "
                  "Offsets in bytes.", size=12)
    picture.box(1, 1, 998, 218, "none", GREY)
    return picture
