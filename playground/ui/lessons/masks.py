"""On the page: a blank filled from one side and from both, two losses, and what the causal mask promises."""

from playground.figures.lessons.charts import ChartWords, Series, bars, heat
from playground.figures.numbers import brief
from playground.figures.style import ATTENTION, FEED_FORWARD
from playground.gpt.model import MultiHeadAttention
from playground.lessons import masked_language_model as lesson
from playground.ui.html import Picture

from .view import Question, Shown, View
from .words import Word, words

BLANK, LOSSES, LATER = lesson.LESSON.experiments
BERT, GPT = ATTENTION, FEED_FORWARD  # their colours
CANDIDATES = 4  # of each model


def draw_blanks(found: lesson.Blanks, lang: str) -> Shown:
    word = words(lang, "blank")
    pictures = {f"blank_{i}": filled(each, i, word) for i, each in enumerate(found.filled, 1)}
    return Shown(pictures, [listens(found), surer(found)])


def filled(found: lesson.Filled, number: int, word: Word) -> Picture:
    """The best tokens of both models, each with its probability under both."""
    best = {
        model: each.topk(CANDIDATES).indices.tolist()
        for model, each in (("bert", found.both_sides), ("gpt", found.left_only))
    }
    tokens = list(dict.fromkeys([*best["bert"], *best["gpt"]]))
    series = [
        Series(word("bert"), found.both_sides[tokens].numpy(), BERT),
        Series(word("gpt"), found.left_only[tokens].numpy(), GPT),
    ]
    chart = bars(
        [lesson.label(t) for t in tokens],
        series,
        ChartWords(word("picture", number=number), word("token"), word("probability")),
    )
    firsts = {name: lesson.label(each[0]) for name, each in best.items()}
    shares = {"bert_share": f"{found.both_sides.max():.0%}", "gpt_share": f"{found.left_only.max():.0%}"}
    left = "".join(map(lesson.label, found.left)).replace("·", " ").strip() or "…"
    return Picture(chart, [word("note", left=left, **firsts, **shares)])


def listens(found: lesson.Blanks) -> Question:
    """Whose answer changes when the words after the first blank are taken away."""
    first = found.filled[0]
    bert, gpt = (
        not lesson.same(*pair)
        for pair in ((first.both_sides, found.cut.both_sides), (first.left_only, found.cut.left_only))
    )
    right = {(True, True): "both", (True, False): "bert", (False, True): "gpt"}.get((bert, gpt), "neither")
    tokens = {
        "bert": first.both_sides,
        "bert_cut": found.cut.both_sides,
        "gpt": first.left_only,
        "gpt_cut": found.cut.left_only,
    }
    return Question(
        "q_listens",
        ("bert", "gpt", "both", "neither"),
        right,
        {name: lesson.label(int(p.argmax())) for name, p in tokens.items()},
    )


def surer(found: lesson.Blanks) -> Question:
    bert, gpt = float(found.filled[0].both_sides.max()), float(found.filled[0].left_only.max())
    return Question(
        "q_surer", ("bert", "gpt"), "bert" if bert > gpt else "gpt", {"bert": f"{bert:.1%}", "gpt": f"{gpt:.1%}"}
    )


def draw_losses(found: lesson.Losses, lang: str) -> Shown:
    word = words(lang, "losses")
    series = [Series(word("gpt"), found.gpt.numpy(), GPT), Series(word("bert"), found.bert.numpy(), BERT)]
    chart = bars(found.labels, series, ChartWords(word("picture"), word("token"), word("loss")))
    gpt, bert = float(found.gpt.mean()), float(found.bert.mean())
    numbers = {
        "gpt": f"{gpt:.3f}",
        "bert": f"{bert:.3f}",
        "total": f"{found.gpt.sum():.1f}",
        "tokens": len(found.labels),
    }
    questions = [
        Question(
            "q_lower", ("gpt", "bert"), "bert" if bert < gpt else "gpt", {"gpt": f"{gpt:.3f}", "bert": f"{bert:.3f}"}
        ),
        passes(found),
        hardest(found),
    ]
    return Shown({"losses": Picture(chart, [word("note", **numbers)])}, questions)


def passes(found: lesson.Losses) -> Question:
    """Every loss of GPT comes from one pass; the other model hides one token in each pass."""
    count = len(found.bert)
    return Question("q_passes", ("one", "each", "twice"), "one" if count == 1 else "each", {"tokens": str(count)})


def hardest(found: lesson.Losses) -> Question:
    thirds, most = ("beginning", "middle", "end"), int(found.gpt.argmax())
    values = {"token": found.labels[most], "gpt": f"{found.gpt[most]:.2f}", "bert": f"{found.bert[most]:.2f}"}
    return Question("q_hardest", thirds, thirds[3 * most // len(found.labels)], values)


def draw_change(found: lesson.Change, lang: str) -> Shown:
    word = words(lang, "later")
    series = [
        Series(word("causal"), found.causal.numpy(), GPT),
        Series(word("both_sides"), found.both_sides.numpy(), BERT),
    ]
    chart = bars(found.labels, series, ChartWords(word("picture"), word("token"), word("moved")))
    token = found.labels[found.position]
    earlier = float(found.causal[: found.position].max()) if found.position else 0.0
    told = word("note", token=token, position=found.position, earlier=brief(earlier))
    axes = ChartWords(word("mask"), word("mask_columns"), word("mask_rows"))
    mask = heat(found.mask.numpy(), found.labels, found.labels, axes, word("mask_value"))
    seen = int(found.mask.sum())
    pictures = {
        "later_moved": Picture(chart, [told]),
        "later_mask": Picture(mask, [word("mask_note", seen=seen, all=found.mask.numel())]),
    }
    return Shown(pictures, [before(found, earlier), without(found)])


def before(found: lesson.Change, earlier: float) -> Question:
    right = "nothing" if earlier == 0 else "little" if earlier < 1e-3 else "much"
    return Question(
        "q_before", ("nothing", "little", "much"), right, {"earlier": brief(earlier), "count": str(found.position)}
    )


def without(found: lesson.Change) -> Question:
    moved = found.both_sides > 0
    count, later = int(moved.sum()), len(moved) - found.position
    right = (
        "all" if count == len(moved) else "later" if count == later and not moved[: found.position].any() else "some"
    )
    return Question("q_without", ("later", "some", "all"), right, {"count": str(count), "tokens": str(len(moved))})


VIEWS = (
    View(
        BLANK,
        draw_blanks,
        "masked_answer",
        ((lesson.fill, ("probabilities", "from_left")), (MultiHeadAttention.forward, ("visible",))),
    ),
    View(
        LOSSES,
        draw_losses,
        "two_losses",
        ((lesson.next_token_losses, ("logits",)), (lesson.masked_losses, ("rows", "logits", "losses"))),
    ),
    View(
        LATER,
        draw_change,
        "causal_mask",
        ((lesson.causal_mask, ()), (lesson.moved_by, ("changed", "(before, after)"))),
    ),
)
