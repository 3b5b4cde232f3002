"""Random problems of fa.attention_gradient, with their gradients by formulas in numpy that share nothing with the
compiler.

Score functions, masks and sinks are tables of texts beside what they mean. `Problem` draws one of each, and says its
text. Read `Problem.compute` for the forward, then `gradients` and `sums`; `region` and `clauses` write the text.
"""

import numpy as np

# Score functions: type of the capture, the region's body, the gradient's, and x and dx/ds in numpy. `t` is the capture.
SCORES = {
    "none": (None, "", "", lambda s, t, at: (s, np.ones_like(s))),
    "softcap": (
        "f32",
        "%r = arith.divf %s, %t : f32\n %h1 = math.tanh %r : f32\n %x = arith.mulf %h1, %t : f32\n fa.yield %x : f32",
        "%r = arith.divf %s, %t : f32\n %h1 = math.tanh %r : f32\n %h2 = arith.mulf %h1, %h1 : f32\n"
        " %one = arith.constant 1.0 : f32\n %d = arith.subf %one, %h2 : f32\n %ds = arith.mulf %dx, %d : f32\n"
        " %p = arith.mulf %r, %d : f32\n %change = arith.subf %h1, %p : f32\n %dt = arith.mulf %dx, %change : f32\n"
        " fa.scatter_gradient %dt to %t[] : f32, f32\n fa.yield %ds : f32",
        lambda s, t, at: (t * np.tanh(s / t), 1 - np.tanh(s / t) ** 2)),
    "alibi": (
        "heads",
        "%w = tensor.extract %t[%h] : tensor<HxF>\n EXT %d0 = arith.subi %j, %i : index\n"
        " %d1 = arith.index_cast %d0 : index to i32\n %d2 = arith.sitofp %d1 : i32 to f32\n"
        " %d3 = arith.mulf %wf, %d2 : f32\n %x = arith.addf %s, %d3 : f32\n fa.yield %x : f32",
        "%d0 = arith.subi %j, %i : index\n %d1 = arith.index_cast %d0 : index to i32\n"
        " %d2 = arith.sitofp %d1 : i32 to f32\n %d3 = arith.mulf %dx, %d2 : f32\n"
        " fa.scatter_gradient %d3 to %t[%h] : f32, tensor<HxF>\n fa.yield %dx : f32",
        lambda s, t, at: (s + t[at[1]] * (at[3] - at[2]), np.ones_like(s))),
    "bias": (
        "pairs",
        "%w = tensor.extract %t[%h, %i, %j] : tensor<HxNxMxF>\n EXT %x = arith.addf %s, %wf : f32\n fa.yield %x : f32",
        "fa.scatter_gradient %dx to %t[%h, %i, %j] : f32, tensor<HxNxMxF>\n fa.yield %dx : f32",
        lambda s, t, at: (s + t[at[1], at[2], at[3]], np.ones_like(s))),
    # A table by relative position that ends early: behind its ends it reads 0, and nothing is added.
    "table": (
        "relative",
        "%d = arith.subi %j, %i : index\n %w = tensor.extract %t[%d] : tensor<RxF>\n EXT %scaled = arith.mulf %s, %wf : f32\n"
        " %x = arith.addf %s, %scaled : f32\n fa.yield %x : f32",
        "%d = arith.subi %j, %i : index\n %w = tensor.extract %t[%d] : tensor<RxF>\n EXT %scaled = arith.mulf %dx, %wf : f32\n"
        " %ds = arith.addf %dx, %scaled : f32\n %dt = arith.mulf %dx, %s : f32\n"
        " fa.scatter_gradient %dt to %t[%d] : f32, tensor<RxF>\n fa.yield %ds : f32",
        None),
}
# Masks: the clause, and which pairs are visible.
MASKS = {
    "none": ("", lambda at, n, m: np.ones(np.broadcast(*at).shape, bool)),
    "causal": ("mask causal", lambda at, n, m: at[3] <= at[2] + m - n),
    "odd": ("mask(%b, %h, %i, %j) {\n %a = arith.addi %i, %j : index\n %a2 = arith.addi %a, %h : index\n"
            " %three = arith.constant 3 : index\n %z = arith.constant 0 : index\n %e = arith.remui %a2, %three : index\n"
            " %seen = arith.cmpi ne, %e, %z : index\n fa.yield %seen : i1\n }", lambda at, n, m: (at[2] + at[3] + at[1]) % 3 != 0),
    # Hides whole blocks of pairs, and leaves others whole.
    "blocks": ("mask(%b, %h, %i, %j) {\n %size = arith.constant 90 : index\n %row = arith.divui %i, %size : index\n"
               " %column = arith.divui %j, %size : index\n %a = arith.addi %row, %column : index\n %three = arith.constant 3 : index\n"
               " %one = arith.constant 1 : index\n %e = arith.remui %a, %three : index\n %seen = arith.cmpi ne, %e, %one : index\n"
               " fa.yield %seen : i1\n }", lambda at, n, m: (at[2] // 90 + at[3] // 90) % 3 != 1),
}
# Sinks: shape of the capture `u`, body, gradient, the sink and its derivative by the element that it reads, and the index of this.
SINKS = {
    "sink_of_heads": (
        "heads", "%w = tensor.extract %u[%h] : tensor<HxF>\n EXT fa.yield %wf : f32",
        "fa.scatter_gradient %dx to %u[%h] : f32, tensor<HxF>\n fa.yield", lambda w: (w, 1 + 0 * w), "h"),
    # A table that ends early, which all heads share: behind its end it reads 0, and nothing is added.
    "sink_of_rows": (
        "relative", "%w = tensor.extract %u[%i] : tensor<RxF>\n EXT %y = arith.mulf %wf, %wf : f32\n fa.yield %y : f32",
        "%w = tensor.extract %u[%i] : tensor<RxF>\n EXT %y = arith.addf %wf, %wf : f32\n %d = arith.mulf %dx, %y : f32\n"
        " fa.scatter_gradient %d to %u[%i] : f32, tensor<RxF>\n fa.yield", lambda w: (w * w, 2 * w), "i"),
    "sink_of_all": (
        "f32", "%y = math.exp %u : f32\n fa.yield %y : f32",
        "%y = math.exp %u : f32\n %d = arith.mulf %dx, %y : f32\n fa.scatter_gradient %d to %u[] : f32, f32\n fa.yield",
        lambda w: (np.exp(w), np.exp(w)), ""),
}
ORDERS = ["bshd", "bhsd", "sbhd", "hbsd", "shbd"]


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011) of arrays of words, as four arrays of words."""
    low = np.uint64(0xFFFFFFFF)
    c, k = [np.asarray(word, np.uint64) & low for word in counter], [word & 0xFFFFFFFF for word in key]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        half = np.uint64(32)
        c = [b >> half ^ c[1] ^ np.uint64(k[0]), b & low, a >> half ^ c[3] ^ np.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def dropout_factors(p, seed, offset, at):
    """What weights of pairs at (batch, head, query, key) are multiplied by."""
    return np.where(dropout_numbers(seed, offset, at) / 2.0**16 < p, 0, 1 / (1 - p))


def dropout_numbers(seed, offset, at):
    """16 random bits of each pair: a byte of its own, above one of the draw that 16 pairs share."""
    b, h, i, j = np.broadcast_arrays(*at)
    words = philox((j & ~9, i & ~9, b % 65536 * 65536 + h, (offset + b // 65536) & 0xFFFFFFFF), (seed, (seed >> 32) + (offset >> 32)))
    return pick_numbers(words, i, j)


def pick_numbers(words, i, j):
    """Those of queries i and keys j, from the words of their draws."""
    word, byte = np.choose((i & 8) // 4 + (j & 8) // 8, words), np.uint64(0xFF)
    own = word >> (16 * (i & 1) + 8 * (j & 1)).astype(np.uint64) & byte
    return own << np.uint64(8) | (words[0] ^ words[1] ^ words[2] ^ words[3]) & byte


def typed(array, element):
    shape = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{shape}{element}>"


class Problem:
    """The numbers of one problem, in float64, and its gradients by formulas."""

    def __init__(self, rng, most, lengths=True, on_gpu=False):
        self.rng = rng
        g = self.g = np.random.default_rng(rng.getrandbits(32))
        self.batch, self.key_heads, self.group = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 3)
        self.heads = self.key_heads * self.group
        self.n, self.m, self.d, self.e = rng.randint(1, most), rng.randint(1, most), rng.choice([4, 8, 24]), rng.choice([4, 8, 40])
        self.element = rng.choice(["f32", "f32", "f16"])
        if on_gpu:
            self.d, self.e = rng.choice([8, 24, 48, 64, 96, 128, 192]), rng.choice([8, 40, 128])
            self.element = rng.choice(["f16", "f16", "f32"])
        self.score, self.mask = rng.choice(list(SCORES)), rng.choice(["none", "causal", "odd"])
        if on_gpu and self.mask == "odd" and self.n % 2:
            self.mask = "blocks"
        self.sink = rng.choice(["", "", *SINKS])
        self.scale = float(np.float32(rng.uniform(0.3, 1.2)))
        number = self.number
        self.q, self.k = number(self.batch, self.n, self.heads, self.d), number(self.batch, self.m, self.key_heads, self.d)
        self.v, self.do = number(self.batch, self.m, self.key_heads, self.e), number(self.batch, self.n, self.heads, self.e)
        self.dlse = number(self.batch, self.heads, self.n, element="f32")
        has = lengths and rng.random() < 0.4
        self.query_lengths = [rng.randint(0, self.n) for _ in range(self.batch)] if has else None
        self.key_lengths = [rng.randint(0, self.m) for _ in range(self.batch)] if has and rng.random() < 0.7 else None
        self.relative = rng.randint(1, 6)
        self.dropout = (float(np.float32(rng.uniform(0, 0.9))), rng.getrandbits(63), rng.getrandbits(40)) \
            if rng.random() < 0.4 and not (on_gpu and self.d == 192) else None  # its registers do not fit there
        self.sizes = {"H": self.heads, "N": self.n, "M": self.m, "R": self.relative}
        shape = {"heads": (self.heads,), "pairs": (self.heads, self.n, self.m), "relative": (self.relative,)}
        kind = SCORES[self.score][0]
        self.t = float(np.float32(rng.uniform(1, 3))) if kind == "f32" else number(*shape[kind]) if kind else None
        kind = SINKS[self.sink][0] if self.sink else None
        self.u = float(np.float32(rng.uniform(-1, 1))) if kind == "f32" else number(*shape[kind]) if kind else None
        self.compute()

    def number(self, *shape, element=None):
        """Standard normal numbers that the element type holds exactly."""
        kind = np.float16 if (element or self.element) == "f16" else np.float32
        return self.g.standard_normal(shape).astype(kind).astype(np.float64)

    def compute(self):
        at = np.ogrid[:self.batch, :self.heads, :self.n, :self.m]
        n = self.query_lengths or [self.n] * self.batch
        m = self.key_lengths or [self.m] * self.batch
        n, m = (np.array(a).reshape(-1, 1, 1, 1) for a in (n, m))
        k, v = np.repeat(self.k, self.group, 2), np.repeat(self.v, self.group, 2)
        self.products = np.einsum("bihd,bjhd->bhij", self.q, k)
        s = self.scale * self.products
        if self.score == "table":
            distance = at[3] - at[2] + 0 * at[0] + 0 * at[1]
            inside = (distance >= 0) & (distance < self.relative)
            w = np.where(inside, self.t[np.where(inside, distance, 0)], 0)
            x, slope = s + s * w, 1 + w + 0 * s
        else:
            x, slope = SCORES[self.score][3](s, self.t, at)
        self.visible = MASKS[self.mask][1](at, n, m) & (at[2] < n) & (at[3] < m) & np.ones_like(s, bool)
        x = np.where(self.visible, x, -np.inf)
        self.sinks = np.full(s.shape[:3], -np.inf)
        if self.sink:
            self.element_of_sink, self.has_element = self.read_sink(*at[:3])
            self.sinks, self.sink_slope = SINKS[self.sink][3](self.element_of_sink)
        self.has_row = (at[2] < n)[..., 0] & np.ones_like(self.sinks, bool)
        with np.errstate(all="ignore"):
            most = np.maximum(x.max(-1), self.sinks)
            top = np.where(np.isfinite(most), most, 0)
            total = np.exp(x - top[..., None]).sum(-1) + np.exp(self.sinks - top)
            self.lse = np.where(total > 0, top + np.log(total), -np.inf)
            # What f32 holds of it is what the evaluator is given.
            self.lse = self.lse.astype(np.float32).astype(np.float64)
            p = np.where(np.isfinite(self.lse)[..., None], np.exp(x - self.lse[..., None]), 0)
        p = np.where(self.visible, p, 0)
        self.factors = dropout_factors(*self.dropout, at) if self.dropout else np.ones_like(p)
        kind = np.float16 if self.element == "f16" else np.float32
        self.o = np.einsum("bhij,bjhe->bihe", p * self.factors, v).astype(kind).astype(np.float64)
        self.delta = (np.einsum("bihe,bihe->bhi", self.do, self.o) - self.dlse).astype(np.float32).astype(np.float64)
        self.x, self.s, self.slope, self.p = x, s, slope, p

    def read_sink(self, b, h, i):
        """What the sink of each row reads of its capture, and whether that is there."""
        b, h, i = (a[..., 0] for a in np.broadcast_arrays(b, h, i))
        kind, at = SINKS[self.sink][0], SINKS[self.sink][4]
        if kind == "f32":
            return np.full(h.shape, self.u), np.ones(h.shape, bool)
        index = h if at == "h" else i
        has = index < len(self.u)
        return np.where(has, self.u[np.where(has, index, 0)], 0), has

    def sums_of_sink(self, delta, piece, part, weight):
        """The gradient of what the sink captures: the sink is one more key, of value zero."""
        b, h, i = piece[:3]
        rows = self.has_row[b, h, i] & np.isfinite(self.lse[b, h, i]) & self.has_element[b, h, i]
        with np.errstate(all="ignore"):
            p = np.exp(self.sinks - self.lse)[b, h, i] * weight[b, h, i]
        each = np.where(rows, -p * part(delta[b, h, i]) * part(self.sink_slope[b, h, i]), 0)
        if SINKS[self.sink][0] == "f32":
            return each.sum()
        du = np.zeros_like(self.u)
        at = np.ogrid[b, h, i]
        np.add.at(du, np.where(rows, (at[1] if SINKS[self.sink][4] == "h" else at[2]) + 0 * each.astype(int), 0), each)
        return du

    def gradients(self, delta, piece, terms_of_delta=None):
        """Gradients of a piece (slices of batch, head, query and key) of the problem, and their conditions, by name.

        `terms_of_delta`: where delta is computed from the output and its gradient, the sum of its terms' magnitudes; None where
        it is an input.
        """
        size_of_delta = np.abs(delta) if terms_of_delta is None else terms_of_delta
        condition = 1 + np.abs(np.where(self.visible, self.x, 0))
        sums = self.sums(delta, piece, self.p, lambda a: a, lambda a, b: a - b)
        # A weight below the smallest normal number of f32 may be 0: that is its error, of which 1e-6 of a weight is the unit.
        least = np.where(self.visible, 2.0**-126 / 1e-6, 0)
        most = self.sums(size_of_delta, piece, self.p * condition + least, np.abs, lambda a, b: a + b)
        if self.sink:
            sums["sink_capture[0]"] = self.sums_of_sink(delta, piece, lambda a: a, np.ones_like(self.sinks))
            most["sink_capture[0]"] = -self.sums_of_sink(size_of_delta, piece, np.abs, 1 + np.abs(self.sinks))
        return sums, {name: np.linalg.norm(each) for name, each in most.items()}

    def sums(self, delta, piece, weights, part, subtract):
        b, h, i, j = piece
        kv = slice(h.start // self.group, h.stop // self.group)
        p = weights[b, h, i, j]
        v = part(np.repeat(self.v[b, j, kv], self.group, 2))
        k = part(np.repeat(self.k[b, j, kv], self.group, 2))
        q, do = part(self.q[b, i, h]), part(self.do[b, i, h])
        factors = self.factors[b, h, i, j]
        dx = p * subtract(factors * np.einsum("bihe,bjhe->bhij", do, v), part(delta[b, h, i])[..., None])
        ds = dx * part(self.slope[b, h, i, j])

        def fold(x):
            return x.reshape(*x.shape[:2], kv.stop - kv.start, self.group, x.shape[-1]).sum(3)

        result = {"query": self.scale * np.einsum("bhij,bjhd->bihd", ds, k),
                  "key": fold(self.scale * np.einsum("bhij,bihd->bjhd", ds, q)),
                  "value": fold(np.einsum("bhij,bihe->bjhe", p * factors, do)),
                  "scale": (ds * part(self.products[b, h, i, j])).sum()}
        at = np.ogrid[b, h, i, j]
        if self.score == "softcap":
            r = self.s[b, h, i, j] / self.t
            result["capture[0]"] = (dx * part(np.tanh(r) - r * (1 - np.tanh(r) ** 2))).sum()
        elif self.t is not None:
            dt = np.zeros_like(self.t)
            if self.score == "alibi":
                np.add.at(dt, at[1] + 0 * at[0] + 0 * at[2] + 0 * at[3], dx * part(at[3] - at[2]))
            elif self.score == "bias":
                dt[h, i, j] = dx.sum(0)
            else:
                for (y, z, a, c), value in np.ndenumerate(dx):
                    distance = j.start + c - i.start - a
                    if 0 <= distance < self.relative:
                        dt[distance] += value * part(self.s[b, h, i, j][y, z, a, c])
            result["capture[0]"] = dt
        return result

    def region(self, text):
        """A region's text with the sizes and elements of this problem."""
        extend = "%wf = arith.extf %w : f16 to f32\n" if self.element == "f16" else "%z0 = arith.constant 0.0 : f32\n" \
            " %wf = arith.addf %w, %z0 : f32\n"
        text = text.replace("EXT", extend).replace("xF>", f"x{self.element}>")
        for name in "HNMR":
            text = text.replace(f"tensor<{name}x", f"tensor<{self.sizes[name]}x").replace(f"x{name}x", f"x{self.sizes[name]}x")
        return text

    def capture_type(self):
        kind = SCORES[self.score][0]
        if kind == "f32":
            return "f32"
        shape = "x".join(str(size) for size in self.t.shape)
        return f"tensor<{shape}x{self.element}>"

    def constants(self):
        """What `clauses` names."""
        if not self.dropout:
            return ""
        p, seed, offset = self.dropout
        return (f"  %drop_p = arith.constant {p!r} : f32\n  %drop_seed = arith.constant {seed} : i64\n"
                f"  %drop_offset = arith.constant {offset} : i64\n")

    def sink_clause(self, is_derived):
        """The sink with its gradient, which may be left to be derived."""
        kind, body, gradient = SINKS[self.sink][:3]
        kind = "f32" if kind == "f32" else typed(self.u, self.element)
        text = f" sink(%b, %h, %i) captures(%u = %sinks : {kind}) {{\n {self.region(body)}\n }}"
        return text if is_derived else text + f" sink_gradient(%dx, %b, %h, %i, %u) {{\n {self.region(gradient)}\n }}"

    def clauses(self, is_step=False, sink=""):
        """The score with its gradient, the mask, the sink and dropout. What tiling makes is given all regions."""
        kind, score, gradient, _ = SCORES[self.score]
        text = ""
        if is_step and self.dropout and self.score == "none":
            text += " score(%s, %b, %h, %i, %j) {\n fa.yield %s : f32\n } score_gradient(%dx, %s, %b, %h, %i, %j) {\n fa.yield %dx : f32\n }"
        if self.score != "none":
            captures = f" captures(%t = %capture : {self.capture_type()})" if kind else ""
            more = ", %t" if kind else ""
            text += f" score(%s, %b, %h, %i, %j){captures} {{\n {self.region(score)}\n }}"
            text += f" score_gradient(%dx, %s, %b, %h, %i, %j{more}) {{\n {self.region(gradient)}\n }}"
        return text + " " + MASKS[self.mask][0] + sink + (" dropout(%drop_p, %drop_seed, %drop_offset)" if self.dropout else "")
