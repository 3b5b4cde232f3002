"""Boxes, lines and words of an SVG picture, placed in units of one pixel."""

from xml.sax.saxutils import escape

INK = "#1f2933"
SOFT = "#7b8794"
PAPER = "#ffffff"
# Pairs that people with colour-blind eyes tell apart (Okabe and Ito 2008).
BLUE, SKY, ORANGE, GREEN, GREY, ROSE = "#0072b2", "#56b4e9", "#e69f00", "#009e73", "#e4e7eb", "#cc79a7"


class Picture:
    """Collects elements; `text()` is the file."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.elements = []

    def box(self, x, y, width, height, fill=PAPER, stroke=INK, rounding=3):
        self.elements.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{rounding}" '
                             f'fill="{fill}" stroke="{stroke}"/>')

    def words(self, x, y, text, size=13, anchor="start", colour=INK, mono=False, bold=False):
        family = "ui-monospace, Menlo, Consolas, monospace" if mono else "Helvetica, Arial, sans-serif"
        weight = ' font-weight="bold"' if bold else ""
        self.elements.append(f'<text x="{x:g}" y="{y:g}" font-family="{family}" font-size="{size}" '
                             f'text-anchor="{anchor}" fill="{colour}"{weight}>{escape(text)}</text>')

    def labelled_box(self, x, y, width, height, text, fill, size=12, colour=INK):
        self.box(x, y, width, height, fill)
        self.words(x + width / 2, y + height / 2 + size * 0.35, text, size, "middle", colour)

    def line(self, x1, y1, x2, y2, colour=INK, dashed=False):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.elements.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}"{dash}/>')

    def arrow(self, x1, y1, x2, y2):
        """A line down or to the right, with a head."""
        self.line(x1, y1, x2, y2)
        if x1 == x2:
            points = f"{x2 - 4:g},{y2 - 7:g} {x2 + 4:g},{y2 - 7:g} {x2:g},{y2:g}"
        else:
            points = f"{x2 - 7:g},{y2 - 4:g} {x2 - 7:g},{y2 + 4:g} {x2:g},{y2:g}"
        self.elements.append(f'<polygon points="{points}" fill="{INK}"/>')

    def text(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.title)}">')
        paper = f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>'
        return "\n".join([head, f"<title>{escape(self.title)}</title>", paper, *self.elements, "</svg>"]) + "\n"
