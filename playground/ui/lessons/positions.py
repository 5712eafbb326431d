"""On the page: order, sines, rotations, the learned table, RoPE, ALiBi."""

import torch

from playground.figures.lessons.charts import ChartWords, Series, bars, heat, lines
from playground.figures.numbers import brief
from playground.figures.style import ACCENT, ATTENTION, OFF, RESIDUAL
from playground.gpt import model
from playground.lessons import position_encodings as encodings
from playground.lessons import positions as lesson
from playground.ui.html import Picture

from .view import Question, Shown, View
from .words import YES_NO, words, yes

ORDER, SINES, ROTATION, LEARNED, ROPE, ALIBI = lesson.LESSON.experiments
ROUNDING = 1e-3  # outputs of the whole network, in float32, differ by less when they ought to be the same
EXACT = 1e-6  # in float64


def draw_order(found: lesson.Order, lang: str) -> Shown:
    word = words(lang, "order")
    tokens = [f"{i} {label}" for i, label in enumerate(found.labels)]

    def weights(which: int) -> Picture:
        name = ("written", "reordered")[which]
        text = "".join((found.labels, found.other)[which])
        drawn = heat(
            found.weights[which].numpy(), tokens, tokens, ChartWords(word(name), word("looked_at"), word("looks")),
            word("weight"), written=".2f" if len(tokens) < 10 else None,
        )  # fmt: skip
        return Picture(drawn, [word(f"{name}_note", text=text)])

    moved = bars(
        tokens,
        [Series(word("moved_by"), found.moved.numpy(), OFF)],
        ChartWords(word("moved"), word("token"), word("moved_by")),
        reach=0.1,
    )
    most = float(found.moved.max())
    note = word("same_note" if most < ROUNDING else "moved_note", most=brief(most))
    pictures = {"order_written": weights(0), "order_other": weights(1), "order_moved": Picture(moved, [note])}
    blind, masked = (each < ROUNDING for each in (found.blind_moved, found.masked_moved))
    questions = [
        Question("q_blind", ("same", "changed"), "same" if blind else "changed", {"moved": brief(found.blind_moved)}),
        Question("q_mask", YES_NO, yes(masked), {"moved": brief(found.masked_moved)}),
    ]
    return Shown(pictures, questions)


def draw_sines(found: lesson.Sines, lang: str) -> Shown:
    word = words(lang, "sines")
    count, width = found.table.shape
    table = heat(
        found.table.numpy(), list(map(str, range(count))), list(map(str, range(width))),
        ChartWords(word("table"), word("feature"), word("position")), word("value"), signed=True,
        height=420,
    )  # fmt: skip
    series = [Series(word("product"), found.products.numpy(), ACCENT)]
    near = lines(series, ChartWords(word("products", at=found.at), word("position"), word("product")), range(count))
    pair = found.table[1]
    shown = {"sine": f"{pair[0]:.4f}", "cosine": f"{pair[1]:.4f}"}
    pictures = {
        "sines_table": Picture(table, [word("table_note", width=width, **shown)]),
        "sines_products": Picture(near, [word("products_note", at=found.at)]),
    }
    fast, slow = found.turns
    turns = {"fast": f"{fast:.1f}", "slow": f"{slow:.3g}", "count": str(count)}
    equal = found.symmetric < EXACT
    questions = [
        Question("q_slowest", ("left", "right"), "right" if slow < fast else "left", turns),
        Question("q_twice", YES_NO, yes(found.nearest < EXACT), {"nearest": f"{found.nearest:.3f}"}),
        Question("q_sides", ("equal", "changed"), "equal" if equal else "changed", {"error": brief(found.symmetric)}),
    ]
    return Shown(pictures, questions)


def draw_rotation(found: lesson.Rotated, lang: str) -> Shown:
    word = words(lang, "rotation")
    names = list(map(str, range(len(found.start))))
    matrix = heat(
        found.matrix.numpy(), names, names, ChartWords(word("matrix"), word("from"), word("to")), word("entry"),
        signed=True, written=".2f" if len(names) <= 8 else None,
    )  # fmt: skip
    series = [
        Series(word("start"), found.start.numpy(), RESIDUAL),
        Series(word("turned"), found.turned.numpy(), ATTENTION),
        Series(word("target"), found.target.numpy(), ACCENT),
    ]
    compared = bars(names, series, ChartWords(word("compared"), word("feature"), word("value")))
    errors = {"error": brief(found.error), "everywhere": brief(found.everywhere)}
    pictures = {
        "rotation_matrix": Picture(matrix, [word("matrix_note")]),
        "rotation_compared": Picture(compared, [word("compared_note", **errors)]),
    }
    before, after = found.lengths
    questions = [
        Question("q_everywhere", YES_NO, yes(found.everywhere < EXACT), errors),
        Question(
            "q_length",
            ("same", "longer", "shorter"),
            "same" if abs(after - before) < EXACT else "longer" if after > before else "shorter",
            {"before": f"{before:.6f}", "after": f"{after:.6f}", "pairs": str(len(found.start) // 2)},
        ),
        Question("q_back", YES_NO, yes(found.returned < EXACT), {"returned": brief(found.returned)}),
    ]
    return Shown(pictures, questions)


def draw_learned(found: lesson.Learned, lang: str) -> Shown:
    word = words(lang, "learned")
    similar = lines(
        [Series(word("similar"), found.similar.numpy(), ATTENTION)],
        ChartWords(word("row", at=found.at), word("position"), word("similar")),
        range(found.rows),
    )
    names = [str(i * lesson.STRIDE) for i in range(len(found.every))]
    every = heat(
        found.every.numpy(), names, names, ChartWords(word("every"), word("position"), word("position")),
        word("similar"), signed=True, height=420,
    )  # fmt: skip
    distance = abs(found.nearest - found.at)
    values = {"at": str(found.at), "nearest": str(found.nearest), "similar": f"{found.similar[found.nearest]:.3f}"}
    pictures = {
        "learned_row": Picture(similar, [word("row_note", **values)]),
        "learned_every": Picture(every, [word("every_note")]),
    }
    near = "neighbour" if distance <= 2 else "near" if distance <= 20 else "far"
    questions = [
        Question("q_nearest", ("neighbour", "near", "far"), near, values),
        Question("q_beyond", YES_NO, yes(found.beyond), {"rows": str(found.rows), "last": str(found.rows - 1)}),
    ]
    return Shown(pictures, questions)


def draw_rope(found: lesson.Turned, lang: str) -> Shown:
    word = words(lang, "rope")
    names = list(map(str, range(len(found.scores))))
    drawn = heat(
        found.scores.numpy(), names, names, ChartWords(word("scores"), word("key"), word("query")), word("score"),
        signed=True, height=420,
    )  # fmt: skip
    note = word("note", moved=brief(found.moved), one_sided=brief(found.one_sided))
    before, after = found.lengths
    questions = [
        Question("q_shift", ("same", "changed"), "same" if found.moved < EXACT else "changed", {
            "moved": brief(found.moved)}),
        Question("q_place", YES_NO, yes(abs(found.same_place - found.plain) < EXACT), {
            "plain": f"{found.plain:.4f}", "turned": f"{found.same_place:.4f}"}),
        Question("q_length", ("same", "changed"), "same" if abs(after - before) < EXACT else "changed", {
            "before": f"{before:.4f}", "after": f"{after:.4f}"}),
    ]  # fmt: skip
    return Shown({"rope_scores": Picture(drawn, [note])}, questions)


def draw_alibi(found: lesson.Biased, lang: str) -> Shown:
    word = words(lang, "alibi")
    names = list(map(str, range(len(found.bias))))
    chosen, n = found.head, len(found.slopes)
    bias = heat(
        -found.bias.numpy(), names, names, ChartWords(word("bias", head=chosen + 1), word("key"), word("query")),
        word("taken_off"), height=420,
    )  # fmt: skip
    picked = sorted({0, chosen, n - 1})
    colours = (ATTENTION, ACCENT, RESIDUAL)
    series = [
        Series(word("head_name", head=i + 1), found.last[i].numpy(), colours[at], markers=i == chosen)
        for at, i in enumerate(picked)
    ]
    last = lines(series, ChartWords(word("last"), word("key"), word("weight")), range(len(found.bias)))
    slope = f"{found.slopes[chosen]:.6g}"
    numbers = {"head": chosen + 1, "slope": slope, "reach": f"{found.reach[chosen]:.1f}"}
    pictures = {
        "alibi_bias": Picture(bias, [word("bias_note", **numbers)]),
        "alibi_last": Picture(last, [word("last_note", **numbers)]),
    }
    ends = {"first": f"{found.reach[0]:.1f}", "last": f"{found.reach[-1]:.1f}", "heads": str(n)}
    steps = found.slopes[1:] / found.slopes[:-1]
    ratio = "ratio" if torch.allclose(steps, steps[0]) else "step"
    slopes = {"slopes": ", ".join(f"{each:.4g}" for each in found.slopes[:3].tolist()), "ratio": f"{steps[0]:.4g}"}
    questions = [
        Question("q_far", ("first", "last"), "first" if found.reach[0] > found.reach[-1] else "last", ends),
        Question("q_slopes", ("ratio", "step"), ratio, slopes),
    ]
    return Shown(pictures, questions)


ATTENTION_CODE = (model.MultiHeadAttention.forward, ("scores", "weights", "mixed"))
TURN = "matrix[2 * i:2 * i + 2, 2 * i:2 * i + 2]"
VIEWS = (
    View(ORDER, draw_order, "order", ((lesson.read, ("trace",)), ATTENTION_CODE)),
    View(SINES, draw_sines, "sinusoid", ((encodings.angles, ("pairs",)), (encodings.sinusoidal, ("turned",)))),
    View(ROTATION, draw_rotation, "rotation", ((lesson.rotation, ("turned", TURN)),)),
    View(
        LEARNED,
        draw_learned,
        "learned",
        ((model.GPTModel._run, ("tokens", "positions", "x")), (lesson.learned, ("table", "similar"))),
    ),
    View(ROPE, draw_rope, "rope", ((encodings.rope, ("(sine, cosine)",)), (lesson.turned, ("queries", "keys")))),
    View(ALIBI, draw_alibi, "alibi", ((encodings.slopes, ()), (encodings.alibi, ("back", "bias")))),
)
