"""The block map of two masks: which key blocks a query block visits, as `fa-run --block-map` says."""

import json

from svg import BLUE, GREY, ORANGE, Picture

CELL = 26
PROBLEM = """\
func.func @attention(%q: tensor<1x512x1x64xf32>, %k: tensor<1x1024x1x64xf32>, %v: tensor<1x1024x1x64xf32>,
                     %init: tensor<1x512x1x64xf32>) -> tensor<1x512x1x64xf32> {
  %left = arith.constant 200 : index
  %right = arith.constant 0 : index
  %o = fa.attention ins(%q, %k, %v : tensor<1x512x1x64xf32>, tensor<1x1024x1x64xf32>, tensor<1x1024x1x64xf32>)
      outs(%init : tensor<1x512x1x64xf32>) mask MASK
      {config = #fa.config<query_block = 64, key_block = 64>}
  return %o : tensor<1x512x1x64xf32>
}
"""
FILLS = {"#": BLUE, "+": ORANGE, ".": GREY}


def get_map(tools, mask):
    report = tools.folder / "block-map.json"
    tools.run("fa-run", "-", "--block-map", f"--json={report}", text=PROBLEM.replace("MASK", mask))
    return json.loads(report.read_text())


def draw_map(picture, x, y, title, block_map):
    rows = block_map["rows"]
    picture.words(x, y, title, bold=True)
    picture.words(x, y + 20, "keys →", size=11)
    for i, row in enumerate(rows):
        picture.words(x - 8, y + 28 + CELL * i + 17, str(i * block_map["query_block"]), size=11, anchor="end")
        for j, kind in enumerate(row):
            picture.box(x + CELL * j, y + 28 + CELL * i, CELL - 2, CELL - 2, FILLS[kind], FILLS[kind])


def draw(tools):
    picture = Picture(1000, 330, "Key blocks that each query block visits, causal and with a window")
    draw_map(picture, 60, 30, "mask causal", get_map(tools, "causal"))
    draw_map(picture, 550, 30, "mask window(200, 0)", get_map(tools, "causal window(%left, %right)"))
    for x, fill, words in ((60, BLUE, "full: no mask code runs"), (330, ORANGE, "partial: the mask is asked"),
                           (620, GREY, "skipped: never loaded")):
        picture.box(x, 295, 18, 18, fill, fill)
        picture.words(x + 26, 309, words)
    return picture
