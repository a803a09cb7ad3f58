"""Predictions of a model.json of prepriv with NumPy alone: one file to copy to machines without prepriv.

`python score.py model.json rows.csv` prints one prediction per line. In Python call `predict(read(path), columns)`, where
columns is a dict of raw cells by name, or a list of them by place. It follows docs/model-format.md.
"""

import base64
import csv
import functools
import hashlib
import itertools
import json
import math
import re
import statistics
import sys

import numpy as np

EMPTY = {"", "NA", "N/A", "n/a", "NULL", "null", "None", "<NA>", "NaT", "#N/A", "#NA", "#N/A N/A"}
GAPS = {"", "?", "na", "n/a", "nan", "null", "none", "missing", "<na>", "nat"}


def read(path):
    """The model, its arrays unpacked."""
    with open(path, encoding="ascii") as file:
        model = json.load(file, object_hook=lambda d: unpacked(d) if d.keys() == {"shape", "float64"} else d)
    if model["format"] != "prepriv-model-2":
        raise ValueError("this page reads prepriv-model-2")
    return model


def unpacked(data):
    return np.frombuffer(base64.b64decode(data["float64"]), "<f8").reshape(data["shape"])


def number(cell):
    try:
        return float(cell) + 0.0
    except (TypeError, ValueError):
        return math.nan


def spelled(cell):
    value = number(cell)
    if math.isnan(value):
        text = "" if cell is None or cell != cell else str(cell).strip()
        return "nan" if text in EMPTY else {"true": "1", "false": "0"}.get(text.lower(), text)
    return str(int(value)) if value.is_integer() else repr(value)


def encoded(cells, column):
    """(n, features) of one column."""
    if "written" in column:
        raise ValueError(f"this page reads numbers, and {column['name']!r} is written as {column['written']}")
    if column["type"] == "numeric":
        low, high, values = column["low"], column["high"], np.array([number(c) for c in cells])
        unit = np.clip((np.clip(values, low, high) - low) / (high - low), 0.0, 1.0)
        return (unit if column["missing"] == "impute" else np.where(np.isnan(unit), 0.5, unit))[:, None]
    texts = [spelled(c) for c in cells]
    if column["type"] == "text":
        if "encoder" in column:
            raise ValueError(
                f"this page has no network, and {column['name']!r} is read by {column['encoder']}"
            )
        return np.array([hashed("" if t == "nan" else t, column["features"]) for t in texts])
    names = [spelled(c) for c in column["categories"]]
    at = [names.index(t) if t in names else len(names) + (t.lower() in GAPS) for t in texts]
    return np.eye(len(names) + 2)[at]


def hashed(text, features):
    raw = re.sub(rb"[0-9]", b"0", text.lower().encode("utf-8", "replace"))
    words, framed = re.findall(r"\w+|[^\w\s]+", raw.decode()), b" " + raw + b" " if raw else b""
    grams = [w.encode() for w in [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]]
    pieces = [framed[i : i + size] for size in (3, 4, 5) for i in range(len(framed) - size + 1)]
    return np.concatenate([counts(grams, features // 2), counts(pieces, features - features // 2)])


def counts(grams, places):
    found = np.zeros(places)
    for gram in grams:
        h = functools.reduce(lambda h, byte: (h ^ byte) * 0x100000001B3 % 2**64, gram, 0xCBF29CE484222325)
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
        h ^= h >> 33
        found[(h >> 1) % places] += 1 - 2 * (h & 1)
    return found / math.sqrt(2 * (found @ found) or 1.0)


def rows_of(model, columns):
    """The encoded rows, (n, d)."""
    domain = model["domain"]
    declared, ball = domain["columns"], domain.get("ball")
    if ball is None:
        cells = [columns[c["name"]] for c in declared] if isinstance(columns, dict) else columns
        return np.hstack([encoded(c, kind) for c, kind in zip(cells, declared)])
    x = np.array(columns.values() if isinstance(columns, dict) else columns, float).T
    x[~np.isfinite(x).all(1)] = 0.0
    return into_ball(x, ball["radius"])


def norms(x):
    biggest = np.maximum(np.abs(x).max(1, keepdims=True, initial=0.0), 1e-150)
    return biggest * np.sqrt(((x / biggest) ** 2).sum(1, keepdims=True))


def into_ball(x, radius):
    return x * (radius / np.maximum(norms(np.nan_to_num(x)), radius))


def scale(x, m):
    return into_ball(np.clip((x - m["offset"]) * m["factor"], m["low"], m["high"]), m["radius"])


def homogeneous_rows(x, m):
    x = np.hstack([x, np.full((len(x), 1), m["level"])])
    x = x * (m["radius"] / norms(x))
    x[:, -1] -= m.get("center", 0.0)
    return x


def augment(x, m):
    x = np.hstack([x / m["tau"], np.ones((len(x), 1))])
    return x * (math.sqrt(2) * (1 - 2.0**-40) / np.maximum(norms(x), math.sqrt(2)))


def roots(x, m):
    b = m["start"]
    below = np.sqrt(np.maximum(x + b, 0.0)) + np.sqrt(b)
    return x / np.maximum(below, 1e-150) * (np.sqrt(1 + b) + np.sqrt(b))


def ranks(x, m):
    x = x.copy()
    for j, knots in zip(m["columns"].astype(int), m["knots"]):
        last, v = len(knots) - 1, x[:, j]
        left, right = np.searchsorted(knots, v), np.searchsorted(knots, v, "right")
        a, b = np.clip(left - 1, 0, last), np.clip(left, 0, last)
        share = np.clip((v - knots[a]) / np.where(knots[b] > knots[a], knots[b] - knots[a], 1.0), 0.0, 1.0)
        rank = np.where(right > left, (left + right - 1) / 2, a + share)
        x[:, j] = np.where(v > knots[-1], last, np.where(v < knots[0], 0.0, rank)) / last
    return x


def cells(x, m):
    if m["side"]:
        x = np.clip(np.rint((x - m["offset"]) / m["side"]) * m["side"] + m["offset"], m["low"], m["high"])
        x = into_ball(x, m["radius"])
    return x


def fill_regression(x, m):
    p, t, x = m["predictors"].astype(int), m["targets"].astype(int), x.copy()
    z = np.hstack([x[:, p] - m["centre"], np.full((len(x), 1), m["radius"] / math.sqrt(2))]) / m["radius"]
    guess = m["middle"] + m["half"] * np.clip(z / np.maximum(norms(z), 1.0) @ m["weights"].T, -1.0, 1.0)
    x[:, t] = np.where(np.isnan(x[:, t]), guess, x[:, t])
    return x


def one_hot(x, m):
    columns = m["columns"].astype(int)
    groups = [np.delete(x, columns, axis=1)]
    for j, count, low, width in zip(columns, m["counts"].astype(int), m["low"], m["width"]):
        code = np.rint(np.clip((x[:, j] - low) / width, 0.0, 1.0) * (count - 1))
        groups.append(np.eye(count + 1)[np.where(np.isnan(code), count, code).astype(int)])
    return np.hstack(groups)


def bins(x, m):
    columns = m["columns"].astype(int)
    groups, edges = (
        [x if m.get("beside") else np.delete(x, columns, axis=1)],
        np.split(m["edges"], np.cumsum(m["counts"].astype(int))[:-1]),
    )
    for j, inner, gap in zip(columns, edges, m["gaps"]):
        code, rho = np.eye(len(inner) + 1), m["smooth"]
        for i in range(1, len(code) * (rho is not None)):
            code[i] = rho * code[i - 1]
            code[i, i] = math.sqrt(1 - rho * rho)
        if rho is not None:
            code = code - code.mean(0)
            code /= norms(code).max()
        gone = np.isnan(x[:, j : j + 1])
        seen = code[np.searchsorted(inner, x[:, j], "right").clip(0, len(inner))]
        groups += [np.where(gone, 0.0, seen), gone.astype(float)][: 1 + int(gap)]
    return np.hstack(groups)


def project(x, m):
    d = len(m["components"])
    e = np.maximum(np.frexp(np.abs(x).max(1, keepdims=True, initial=0.0))[1], -900)
    bits, columns = 26 - math.ceil(math.log2(d) / 2), np.trunc(m["components"] * 2.0**26)
    scaled = x * np.ldexp(1.0, bits - e)
    high = np.trunc(scaled)
    low = np.trunc((scaled - high) * 2.0**bits)
    return (low @ columns * 2.0**-bits + high @ columns) * np.ldexp(1.0, e - bits - 26)


def random_features(x, m):
    d, f, k, w = x.shape[1], int(m["features"]), int(m.get("signs", 1)), m["weight"]
    seed = f"prepriv random features, {d}" + (f" x {k}" if k > 1 else "")
    stream = np.frombuffer(hashlib.shake_128(seed.encode()).digest((f * d * k + 7) // 8), np.uint8)
    signs = 1.0 - 2.0 * np.unpackbits(stream, count=f * d * k).reshape(f, d, k)
    bits, e = 24 - math.ceil(math.log2(d * k)), np.frexp(np.abs(x).max(1, keepdims=True, initial=0.0))[1]
    seen = np.ldexp(np.abs(np.trunc(np.ldexp(x, bits - e)) @ signs.sum(2).T / math.sqrt(k)), e - bits)
    added = (seen - math.sqrt(2 / math.pi) * norms(x)) * (w / math.sqrt((1 - 2 / math.pi) * f))
    return into_ball(np.hstack([x, added]) / math.sqrt(1 + w * w), m["radius"])


@functools.cache
def wavelets(scale, angles):
    """Morlet wavelets, real parts and then imaginary ones, and (angles = 0) the Gaussian, in steps of 2^-12."""
    half = 3 * 2**scale + 1 if angles else math.ceil(2.4 * 2**scale)
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(float)
    if not angles:
        line = np.exp(-(x[0] ** 2) / (2 * (0.8 * 2**scale) ** 2))
        return np.rint(np.outer(line, line) / np.outer(line, line).sum() * 2.0**12)[None]
    waves = []
    for theta in np.pi * np.arange(angles) / angles:
        u, v = x * math.cos(theta) + y * math.sin(theta), y * math.cos(theta) - x * math.sin(theta)
        bell = np.exp(-(u**2 + (4 / angles * v) ** 2) / (2 * (0.8 * 2**scale) ** 2))
        wave = np.exp(0.75j * math.pi / 2**scale * u) * bell
        wave -= bell * (wave.sum() / bell.sum())
        waves.append(wave / np.abs(wave).sum())
    return np.rint(np.concatenate([np.real(waves), np.imag(waves)]) * 2.0**12)


def seen_by(filters, maps, stride):
    """(b, filters, rows, columns) of maps (b, height, width), zero outside."""
    half = filters.shape[1] // 2
    padded = np.pad(maps, ((0, 0), (half, half), (half, half)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[1:], axis=(1, 2))
    return np.einsum("bijkl,fkl->bfij", windows[:, ::stride, ::stride], filters, optimize=True)


def amplitudes(maps, scale, angles):
    waves = (seen_by(wavelets(scale, angles), maps, 2**scale) / 2.0**12).astype(np.float32)
    size = np.sqrt(waves[:, :angles] * waves[:, :angles] + waves[:, angles:] * waves[:, angles:])
    return np.minimum(np.rint(size), 2048.0).reshape(-1, *size.shape[2:]).astype(float)


def scattering(x, m):
    h, w, c, J, L = (int(m[name]) for name in ("height", "width", "channels", "J", "L"))
    images = (
        np.rint(np.clip(x, 0.0, 1.0) * 2048).reshape(len(x), h, w, c).transpose(0, 3, 1, 2).reshape(-1, h, w)
    )
    smooth = lambda maps, k: seen_by(wavelets(J - k - 1, 0), maps, 2 ** (J - k)).reshape(len(images), -1)  # noqa: E731
    inner = [amplitudes(images, j, L) for j in range(J)]
    pairs = [smooth(amplitudes(inner[j], k - j, L), k) for j in range(J) for k in range(j + 1, J)]
    made = np.hstack([smooth(images, 0), *(smooth(maps, j) for j, maps in enumerate(inner)), *pairs])
    cells, d = -(-h // 2**J) * -(-w // 2**J), made.shape[1] * c
    steps = 2.0 ** min(23, (52 - math.ceil(math.log2(3 * cells))) // 2)
    v, out = np.rint(made * (steps / 2.0**23)), []
    for start in range(0, made.shape[1], 3 * cells):
        group = v[:, start : start + 3 * cells]
        mean = group.sum(1, keepdims=True) / group.shape[1]
        variance = (group * group).sum(1, keepdims=True) / group.shape[1] - mean * mean
        out.append((group - mean) / np.sqrt((np.maximum(variance, 0.0) + (m["floor"] * steps) ** 2) * d))
    return np.hstack(out).reshape(len(x), -1)


def encoder(x, m):
    """A network in the ONNX format, one row at a time: the one map that needs more than NumPy."""
    import onnxruntime

    session = onnxruntime.InferenceSession(base64.b64decode(m["network"]), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    sides, kind = given.shape[1:], np.float64 if "double" in given.type else np.float32
    x = (
        x.reshape(-1, *sides[1:], sides[0]).transpose(0, 3, 1, 2)
        if m["channels_first"]
        else x.reshape(-1, *sides)
    )
    made = np.array([session.run(None, {given.name: row[None].astype(kind)})[0].ravel() for row in x], float)
    made[~np.isfinite(made).all(1)] = 0.0
    return MAPS["scale_rows"](made, m)


def compiled(x, m):
    """A pipeline of scikit-learn as operations on raw columns."""
    columns, at = [], 0
    for c in json.loads(m["columns"]):
        width = 1 if c["type"] == "numeric" else len(c["categories"]) + 2
        part, at = x[:, at : at + width], at + width
        columns.append(c["low"] + (c["high"] - c["low"]) * part[:, 0] if width == 1 else part.argmax(1) + 0.0)
    out = np.zeros((len(x), int(m["features"])))
    with np.errstate(all="ignore"):
        made = done(json.loads(m["ops"]), columns)
    for j, column in enumerate(made[: out.shape[1]]):
        out[:, j] = np.where(np.isfinite(column), np.clip(column, -1.0, 1.0), 0.0)
    return out


def done(ops, columns):
    for op in ops:
        columns = list(DO[op["do"]](op, columns))
    return columns


def table(o, xs):
    tables = [np.array(v, float) for v in o["values"]]  # None is NaN
    return [
        t[np.clip(np.nan_to_num(xs[i], nan=len(t) - 1), 0, len(t) - 1).astype(int)]
        for i, t in zip(o["of"], tables)
    ]


def interp(o, xs):
    for x, at, out, into, on in zip(xs, *(map(np.array, o[k]) for k in ("at", "out", "into", "on"))):
        inside = np.clip(np.nan_to_num(x, nan=at[0]), at[0], at[-1])
        i = np.searchsorted(at, inside, side="right") - 1
        j = np.minimum(i + 1, len(at) - 1)
        part = (inside - at[i]) / np.where(at[j] > at[i], at[j] - at[i], 1.0)
        y = np.where(inside == at[i], on[i], out[i] + part * (into[j] - out[i]))
        yield np.where(np.isnan(x), np.nan, y)


def matrix(o, xs):
    for weights, plus in zip(o["weights"], o["plus"]):
        yield sum(((x - m) * w for x, m, w in zip(xs, o["minus"], weights)), np.full(len(xs[0]), plus))


def unit(o, xs):
    a = np.abs(xs)
    size = {"max": a.max, "l1": a.sum, "l2": lambda axis: np.sqrt((a * a).sum(axis))}[o["norm"]](0)
    return [x / np.where(size > 0, size, 1.0) for x in xs]


def power(o, xs):
    for x, p in zip(xs, o["powers"]):
        if o["method"] == "box-cox":
            yield raised(np.log(x), p)
        else:
            yield np.where(
                x >= 0, raised(np.log1p(np.maximum(x, 0)), p), -raised(np.log1p(np.maximum(-x, 0)), 2 - p)
            )


def raised(log, p):
    return log if p == 0 else (np.exp(p * log) - 1) / p


def nearest(o, xs):
    stored, x = np.array(o["rows"], float), np.array(xs).T.copy()
    for i in np.flatnonzero(np.isnan(x).any(1)):
        row = x[i]
        both = ~np.isnan(row) & ~np.isnan(stored)
        far = np.sqrt((np.where(both, row - stored, 0.0) ** 2).sum(1) / np.maximum(both.sum(1), 1))
        far = np.where(both.any(1), far, np.inf)
        for j in np.flatnonzero(np.isnan(x[i])):
            donors = np.flatnonzero(~np.isnan(stored[:, j]))
            donors = donors[np.argsort(far[donors], kind="stable")[: o["most"]]]
            w = np.isfinite(far[donors]) + 0.0
            if o["by"] == "distance" and len(w):
                w = (far[donors] == 0) + 0.0 if (far[donors] == 0).any() else 1 / far[donors]
            row[j] = (w * stored[donors, j]).sum() / w.sum() if w.sum() else o["means"][j]
    return list(x.T)


def nonnegative(o, xs):
    x, h, gram = np.array(xs).T, np.array(o["weights"]), np.array(o["gram"])
    out = np.zeros((len(x), len(h)))
    for row, w in zip(x, out):
        first = 0.0
        for turn in range(o["turns"]):
            broken = 0.0
            for t in range(len(h)):
                slope = gram[t] @ w - (h[t] @ row - o["less"])
                broken += abs(min(slope, 0.0) if w[t] == 0 else slope)
                if gram[t, t]:
                    w[t] = max(w[t] - slope / gram[t, t], 0.0)
            first = first if turn else broken
            if not first or broken / first <= o["tol"]:
                break
    return list(out.T)


def chained(o, xs):
    gaps = [np.isnan(x) for x in xs]
    now = [np.where(g, v, x) for g, v, x in zip(gaps, o["with"], xs)]
    for t in o["turns"]:
        i, total = (
            t["at"],
            sum((now[j] * w for j, w in zip(t["of"], t["weights"])), np.full(len(xs[0]), t["plus"])),
        )
        now[i] = np.where(gaps[i], np.clip(total, o["low"][i], o["high"][i]), now[i])
    return now


def polynomial(o, xs):
    for i, knots, pieces in zip(o["of"], map(np.array, o["breaks"]), map(np.array, o["pieces"])):
        x = np.clip(xs[i], knots[0], knots[-1])
        at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        yield functools.reduce(lambda y, c, at=at, step=x - knots[at]: y * step + c[at], pieces, 0.0)


def quantile(p):
    inside = statistics.NormalDist().inv_cdf
    return math.nan if p != p else -math.inf if p <= 0 else math.inf if p >= 1 else inside(p)


NAMED = {"ndtri": np.vectorize(quantile, otypes=[float])}
DO = {
    "affine": lambda o, xs: [(x - m) * t + p for x, m, t, p in zip(xs, o["minus"], o["times"], o["plus"])],
    "beside": lambda o, xs: [y for part in o["parts"] for y in done(part, xs)],
    "clip": lambda o, xs: [np.clip(x, a, b) for x, a, b in zip(xs, o["low"], o["high"])],
    "cut": lambda o, xs: [
        np.searchsorted(np.array(e, float), x, side="right") + 0.0 for x, e in zip(xs, o["edges"])
    ],
    "distances": lambda o, xs: [np.sqrt(sum((x - c) ** 2 for x, c in zip(xs, cs))) for cs in o["centres"]],
    "fill": lambda o, xs: [np.where(np.isnan(x), v, x) for x, v in zip(xs, o["with"])],
    "function": lambda o, xs: [NAMED.get(o["name"], getattr(np, o["name"], None))(x) for x in xs],
    "gaps": lambda o, xs: [np.isnan(x) + 0.0 for x in xs],
    "more": lambda o, xs: [np.where(np.isnan(x), np.nan, x > o["than"]) for x in xs],
    "products": lambda o, xs: [
        math.prod([x**p for x, p in zip(xs, ps)]) + np.zeros(len(xs[0])) for ps in o["powers"]
    ],
    "take": lambda o, xs: [xs[i] for i in o["of"]],
} | {f.__name__: f for f in (chained, interp, matrix, nearest, nonnegative, polynomial, power, table, unit)}


MAPS = {
    "identity": lambda x, m: x,
    "class_counts": lambda x, m: x,
    "signed_root": lambda x, m: np.copysign(np.sqrt(np.abs(x)), x),
    "scale_rows": lambda x, m: x * (m["factor"] / np.maximum(norms(x), max(m["floor"], 1e-300 * max(1.0, m["factor"])))),
    "multiply": lambda x, m: x * m["factor"],
    "subtract": lambda x, m: x - m["offset"],
    "fill": lambda x, m: np.where(np.isnan(x), m["fill"], x),
    "clip_features": lambda x, m: np.clip(x, m["low"], m["high"]),
} | {
    f.__name__: f
    for f in (scale, homogeneous_rows, augment, roots, ranks, cells, fill_regression, one_hot, bins)
    + (project, random_features, scattering, compiled, encoder)
}  # fmt: skip


def scores(model, columns):
    """(scores (n, K), norms (n, 1) of the mapped rows)."""
    x = rows_of(model, columns)
    for m in model["maps"]:
        x = MAPS[m["map"]](x, m)
    return x @ model["weights"][:-1] + model["weights"][-1], norms(x)


def softmax(s):
    s = np.hstack([np.zeros_like(s), s]) if s.shape[1] == 1 else s
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def probabilities(model, columns):
    """(n, classes), in the order of the domain's classes."""
    s, norm = scores(model, columns)
    link = model.get("link")
    if link is None:
        return softmax(s)
    q = softmax(link["shrink"] * s)
    others = 1 - np.eye(q.shape[1])
    residual = q[:, ::-1] if s.shape[1] == 1 else np.sqrt((q @ others) ** 2 + (q * q) @ others)
    norm = link["norm"] if "norm" in link else np.hypot(norm, link["bias"])
    p = q * np.maximum(1.0, residual / (link["clip"] / norm))
    raw = link.get("softmax", min(1.0, max(0.25, (q.shape[1] - 4) / 6)))
    return raw * q + (1 - raw) * p / p.sum(1, keepdims=True)


def predict(model, columns):
    """The class of each row, or the number."""
    s, target = scores(model, columns)[0], model["domain"].get("target")
    if target:
        return target["low"] + (target["high"] - target["low"]) * (np.clip(s[:, 0], -1.0, 1.0) + 1.0) / 2.0
    best = (s[:, 0] > 0).astype(int) if s.shape[1] == 1 else s.argmax(1)
    if "class_weight" in model:
        best = (probabilities(model, columns) * model["class_weight"]).argmax(1)
    return np.array([model["domain"]["classes"][i] for i in best])


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8", newline="") as table:
        names, *lines = csv.reader(table)
    print(*predict(read(sys.argv[1]), dict(zip(names, zip(*lines)))), sep="\n")
