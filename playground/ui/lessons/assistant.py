"""On the page: the four steps from a language model to an assistant."""

import math
from typing import Any

from playground.figures.lessons.charts import ChartWords, Series, bars, lines
from playground.figures.style import ACCENT, FEED_FORWARD, NORM, OFF, RESIDUAL
from playground.lessons import assistant as lesson
from playground.lessons import fine_tuning, policy, reward_model
from playground.lessons.bundled import storyteller
from playground.lessons.little_stories import KINDS
from playground.ui.html import Picture

from .view import Asked, Question, Samples, Shown, View
from .words import YES_NO, Word, recent, words, yes

PRETRAINED, SFT, REWARD, SCORE, POLICY, LEASH = lesson.LESSON.experiments
LEASHES = dict(zip(policy.BETAS.values(), (OFF, FEED_FORWARD, NORM), strict=True))  # β -> its colour
SHOWN = 4  # stories beside each other
RECENT = 5  # steps
STEPS = ("pretraining", "sft", "reward", "ppo")
# A few orders of magnitude, and what a loss may be, to guess among.
TIMES = {"hundred": 1e2, "thousands": 2e4, "millions": 1e7}
FIRSTS = {"zero": 0.0, "log2": math.log(2), "two": 2.0}

Q_WORDS, Q_HARDER = Asked("q_words", ("few", "half", "most")), Asked("q_harder", ("words", "combinations", "alike"))
Q_TOKENS = Asked("q_tokens", tuple(TIMES))
Q_TOP, Q_FIRST = Asked("q_top", ("happy", "mixed", "sad")), Asked("q_first", tuple(FIRSTS))
Q_RISE, Q_OTHER, Q_KL = Asked("q_rise", YES_NO), Asked("q_other", YES_NO), Asked("q_kl", ("near", "some", "far"))


def share(of: float) -> str:
    return f"{of:.0%}"


def level(value: float, low: float, high: float, names: tuple[str, str, str]) -> str:
    return names[0] if value <= low else names[1] if value <= high else names[2]


# 1. Pre-training alone.


def draw_pretrained(found: fine_tuning.Pretrained, lang: str) -> Shown:
    word = words(lang, "pretrained")
    each = next(zip(*([one for one in found.asked if one.pair.kind == kind] for kind in KINDS), strict=True))
    wrote = Samples(
        word("wrote"),
        (word("prompt"), word("wanted"), word("answer")),
        [(one.prompt, one.pair.word, one.wrote.strip() or "…") for one in each],
    )
    chart = bars(
        [word(kind) for kind in KINDS],
        [Series(word("share"), [found.share(kind) for kind in KINDS], ACCENT)],
        ChartWords(word("picture"), "", word("share")),
        reach=1.0,
    )
    right, stopped = sum(one.right for one in found.asked), sum(one.stopped for one in found.asked)
    numbers = {"right": right, "all": len(found.asked)}
    shown = {name: str(value) for name, value in numbers.items()}
    losses = {"answers": f"{found.answers:.2f}", "facts": f"{found.facts:.2f}"}
    questions = [
        Question(
            "q_right",
            ("none", "some", "most"),
            level(right / len(found.asked), 0.1, 0.5, ("none", "some", "most")),
            shown,
        ),
        Question("q_stops", YES_NO, yes(stopped > len(found.asked) / 2), shown | {"stopped": str(stopped)}),
        Question("q_loss", ("answers", "facts"), "answers" if found.answers > found.facts else "facts", losses),
    ]
    note = word("note", **numbers, **losses)
    return Shown({"pretrained_right": Picture(chart, [note])}, questions, [wrote, needed(word)])


def needed(word: Word) -> Samples:
    """What each of the four steps reads, here and in the paper."""
    rows = [(word(f"{step}_step"), word(f"{step}_data"), word(f"{step}_ours"), word(f"{step}_paper")) for step in STEPS]
    return Samples(word("needed"), (word("step"), word("data"), word("ours"), word("paper")), rows)


# 2. Supervised fine-tuning.


def draw_sft(found: fine_tuning.Tuned, lang: str) -> Shown:
    word = words(lang, "sft")
    steps = range(1, len(found.losses) + 1)
    right = [
        Series(word("combinations"), found.combinations, NORM, markers=True),
        Series(word("words"), found.words, ACCENT, markers=True),
    ]
    pictures = {
        "sft_right": Picture(
            lines(right, ChartWords(word("right"), word("step"), word("share")), found.checked), [sft_note(found, word)]
        ),
        "sft_loss": Picture(
            lines(
                [Series(word("training"), found.losses, RESIDUAL)],
                ChartWords(word("losses"), word("step"), word("loss")),
                steps,
            ),
            [word("loss_note", tokens=f"{found.tokens:,}", step=len(found.losses))],
        ),
    }
    answers = [(each.pair.prompt, each.before.strip(), each.after.strip()) for each in found.answered]
    samples = [Samples(word("answers"), (word("question"), word("before"), word("after")), answers)] if answers else []
    return Shown(pictures, sft_questions(found) if len(found.losses) == found.steps else [], samples)


def sft_note(found: fine_tuning.Tuned, word: Word) -> str:
    if not found.checked:
        return word("waiting")
    return word(
        "note",
        step=found.checked[-1],
        pairs=found.pairs,
        combinations=share(found.combinations[-1]),
        words=share(found.words[-1]),
    )


def sft_questions(found: fine_tuning.Tuned) -> list[Question]:
    ends = {"combinations": share(found.combinations[-1]), "words": share(found.words[-1])}
    gap = found.combinations[-1] - found.words[-1]
    read = fine_tuning.PRETRAINING / found.tokens
    told = {"tokens": f"{found.tokens:,}", "times": f"{read:,.0f}", "read": fine_tuning.PRETRAINING // 10**6}
    nearest = min(TIMES, key=lambda name: abs(math.log(TIMES[name] / read)))
    return [
        Question(*Q_WORDS, level(found.words[-1], 0.25, 0.75, Q_WORDS.choices), ends),
        Question(*Q_HARDER, level(gap, -0.05, 0.05, ("combinations", "alike", "words")), ends),
        Question(*Q_TOKENS, nearest, told),
    ]


# 3. The reward model.


def draw_reward(found: reward_model.Trained, lang: str) -> Shown:
    word = words(lang, "reward")
    steps = range(1, len(found.losses) + 1)
    guessing = Series(word("guessing"), [math.log(2)] * len(steps), RESIDUAL, "dot")
    losses = lines(
        [Series(word("training"), found.losses, ACCENT), guessing],
        ChartWords(word("losses"), word("step"), word("loss")),
        steps,
    )
    right = lines(
        [Series(word("share"), found.right, NORM, markers=True)],
        ChartWords(word("right"), word("step"), word("share")),
        found.checked,
    )
    first = f"{found.losses[0]:.3f}" if found.losses else "…"
    pairs = reward_model.HELD_OUT
    told = word("waiting")
    if found.checked:
        told = word("note", step=found.checked[-1], right=share(found.right[-1]), pairs=pairs)
    pictures = {
        "reward_right": Picture(right, [told]),
        "reward_loss": Picture(losses, [word("loss_note", first=first, guessing=f"{math.log(2):.3f}")]),
    }
    ranked = sorted(found.endings, key=lambda ending: -ending.reward)
    rows = [(f"{each.reward:+.2f}", each.text, word("is_happy" if each.happy else "is_sad")) for each in ranked]
    samples = [Samples(word("endings"), (word("reward"), word("ending"), word("sort")), rows)] if rows else []
    return Shown(pictures, reward_questions(found, ranked) if len(found.losses) == found.steps else [], samples)


def reward_questions(found: reward_model.Trained, ranked: list[reward_model.Ending]) -> list[Question]:
    half = len(ranked) // 2
    happy = sum(each.happy for each in ranked[:half])
    on_top = level(happy / half, 0.34, 0.66, ("sad", "mixed", "happy"))
    first = found.losses[0]
    nearest = min(FIRSTS, key=lambda name: abs(FIRSTS[name] - first))
    top = {"text": ranked[0].text, "happy": str(happy), "half": str(half)}
    return [
        Question(*Q_TOP, on_top, top),
        Question(*Q_FIRST, nearest, {"first": f"{first:.4f}"}),
    ]


def draw_score(found: reward_model.Scored, lang: str) -> Shown:
    word, model = words(lang, "score"), reward_model.shipped()
    chart = bars(
        found.labels,
        [Series(word("reward"), found.rewards.numpy(), ACCENT)],
        ChartWords(word("picture"), word("token"), word("reward")),
    )
    right = share(model["reward_model"]["held_out_right"])
    note = word("note", reward=f"{found.rewards[-1]:+.2f}", command=model["command"], right=right)
    thirds, most = ("beginning", "middle", "end"), int(found.rewards.argmax())
    happy, sad = (found.denials[text] for text in reward_model.DENIALS)
    questions = [
        Question(
            "q_denial",
            ("not_happy", "not_sad"),
            "not_happy" if happy > sad else "not_sad",
            {"happy": f"{happy:+.2f}", "sad": f"{sad:+.2f}"},
        ),
        Question(
            "q_where",
            thirds,
            thirds[3 * most // len(found.labels)],
            {"token": found.labels[most], "reward": f"{found.rewards[most]:+.2f}"},
        ),
    ]
    return Shown({"score_tokens": Picture(chart, [note])}, questions)


# 4. Reinforcement learning.


def draw_policy(found: policy.Improved, lang: str) -> Shown:
    word, steps = words(lang, "policy"), range(1, len(found.rewards) + 1)
    color = LEASHES[found.beta]
    curves = {
        name: lines(
            [Series(word(name), values, color)], ChartWords(word(name), word("step"), word(f"{name}_axis")), steps
        )
        for name, values in (("rewards", found.rewards), ("kl", found.kl))
    }
    if found.rewards:
        mean = {"recent": min(RECENT, len(steps))}
        ends = {"reward": f"{recent(found.rewards, RECENT):+.2f}", "first": f"{found.rewards[0]:+.2f}"}
        note = word("note", step=len(steps), **ends, **mean)
        kl, clipped = f"{recent(found.kl, RECENT):.1f}", share(found.clipped[-1])
        apart = word("kl_note", kl=kl, clipped=clipped, beta=f"{found.beta:g}", **mean)
    else:
        note = apart = word("waiting")
    pictures = {"policy_reward": Picture(curves["rewards"], [note]), "policy_kl": Picture(curves["kl"], [apart])}
    finished = len(found.rewards) == found.steps and found.before is not None and found.after is not None
    return Shown(pictures, policy_questions(found) if finished else [], told_before_and_after(found, word))


def told_before_and_after(found: policy.Improved, word: Word) -> list[Samples]:
    if found.before is None:
        return []
    after = found.after.texts if found.after else ("…",) * len(found.before.texts)
    rows = list(zip(found.beginnings, found.before.texts, after, strict=True))[:SHOWN]
    return [Samples(word("stories"), (word("beginning"), word("before"), word("after")), rows)]


def policy_questions(found: policy.Improved) -> list[Question]:
    assert found.before is not None
    assert found.after is not None
    rise = {name: found.after.rewards[name] - found.before.rewards[name] for name in policy.JUDGES}
    other = next(name for name in policy.JUDGES if name != found.judge)
    values = {
        "before": f"{found.before.rewards[found.judge]:+.2f}",
        "after": f"{found.after.rewards[found.judge]:+.2f}",
        "other_before": f"{found.before.rewards[other]:+.2f}",
        "other_after": f"{found.after.rewards[other]:+.2f}",
        "kl": f"{recent(found.kl, RECENT):.1f}",
    }
    return [
        Question(*Q_RISE, yes(rise[found.judge] > 0.5), values),
        Question(*Q_OTHER, yes(rise[other] > 0.25), values),
        Question(*Q_KL, level(recent(found.kl, RECENT), 3, 15, Q_KL.choices), values),
    ]


def draw_leash(found: dict[str, Any], lang: str) -> Shown:
    word, runs = words(lang, "leash"), found["policies"]

    def chart(name: str) -> Any:
        series = [Series(word("beta", beta=f"{run['beta']:g}"), run[name], LEASHES[run["beta"]]) for run in runs]
        return lines(series, ChartWords(word(name), word("step"), word(f"{name}_axis")), range(1, runs[0]["steps"] + 1))

    ends = [
        word("end", beta=f"{run['beta']:g}", reward=f"{policy_end(run)[0]:+.2f}", kl=f"{policy_end(run)[1]:.0f}")
        for run in runs
    ]
    note = word("note", command=found["command"], seconds=found["cpu_seconds"])
    pictures = {
        "leash_reward": Picture(chart("rewards"), [note]),
        "leash_kl": Picture(chart("kl"), [" · ".join(ends)]),
    }
    names = (word("beginning"), *(word("beta", beta=f"{run['beta']:g}") for run in runs))
    rows = list(zip(runs[0]["beginnings"], *(run["after"]["texts"] for run in runs), strict=True))
    return Shown(pictures, leash_questions(runs), [Samples(word("stories"), names, rows)])


def leash_questions(runs: list[dict[str, Any]]) -> list[Question]:
    names = tuple(policy.BETAS)  # in the order of the runs
    last = {name: policy_end(run) for name, run in zip(names, runs, strict=True)}
    kl = {name: f"{each[1]:.1f}" for name, each in last.items()}
    reward = {name: f"{each[0]:+.2f}" for name, each in last.items()}
    before = runs[0]["before"]["rewards"]["words"]
    counted = {name: run["after"]["rewards"]["words"] for name, run in zip(names, runs, strict=True)}
    least = min(counted, key=lambda name: counted[name])
    told = {name: f"{each:+.2f}" for name, each in {"before": before, **counted}.items()}
    variety = {"before": runs[0]["before"], **{name: run["after"] for name, run in zip(names, runs, strict=True)}}
    told |= {f"variety_{name}": f"{each['diversity']:.0%}" for name, each in variety.items()}
    return [
        Question("q_reward", names, max(names, key=lambda name: last[name][0]), reward),
        Question("q_kl", names, max(names, key=lambda name: last[name][1]), kl),
        Question("q_judge", (*names, "nobody"), least if counted[least] < before else "nobody", told),
    ]


def policy_end(run: dict[str, Any]) -> tuple[float, float]:
    return run["after"]["rewards"]["model"], recent(run["kl"], RECENT)


def a_copy(**_: Any) -> int:
    """A training of storyteller moves all its weights."""
    return storyteller().config.n_parameters


VIEWS = (
    View(
        PRETRAINED,
        draw_pretrained,
        "next_token",
        ((fine_tuning.prompt_for, ("examples",)), (fine_tuning.greedy, ("unread",))),
    ),
    View(
        SFT,
        draw_sft,
        "answer_loss",
        ((fine_tuning.answer_loss, ("logits", "wanted")), (fine_tuning.rows, ("begins", "ends"))),
        asks=(Q_WORDS, Q_HARDER, Q_TOKENS),
        parameters=a_copy,
    ),
    View(
        REWARD,
        draw_reward,
        "preference_loss",
        ((reward_model.preference_loss, ()), (reward_model.train_reward, ("(chosen, rejected)", "loss"))),
        asks=(Q_TOP, Q_FIRST),
    ),
    View(SCORE, draw_score, "reward_head", ((reward_model.score, ("states",)), (reward_model.rewards, ()))),
    View(
        POLICY,
        draw_policy,
        "ppo",
        (
            (policy.clipped_objective, ("ratio",)),
            (policy.advantages, ("to_come", "expected", "more")),
            (policy.learn, ("advantage", "new", "objective")),
        ),
        asks=(Q_RISE, Q_OTHER, Q_KL),
        parameters=a_copy,
    ),
    View(LEASH, draw_leash, "kl_leash", ((policy.leashed, ("earned",)),)),
)
