"""What the player is sent: pure JSON, complete, and growing piece by piece into the same whole."""

import json
from dataclasses import replace

import pytest
import torch

from playground.analysis import kl_divergence
from playground.gpt.ablation import Ablation
from playground.gpt.sampling import GREEDY, Sampling
from playground.gpt.tokenizer import tokenizer
from playground.limits import DEFAULTS
from playground.models import Model
from playground.runs import Request, Runs, next_token
from playground.text import say
from playground.ui import view
from playground.ui.session import Choice

HELLO = Request("fix_a", "Hello, I am")
OFF = Ablation(attention=frozenset({0}))


@pytest.fixture(scope="module")
def runs(fix_a) -> Runs:
    model = Model("fix_a", fix_a, tokenizer("gpt2"))
    return Runs(lambda _: model)


def written(runs, request, count, sampling=GREEDY):
    for _ in range(count):
        request = replace(request, made=(*request.made, next_token(runs(request), sampling, 0)))
    return request


def shown(runs, request, sampling=GREEDY, **more):
    base = None if request == request.baseline else runs(request.baseline)
    return view.whole(request, runs(request), base, sampling, view.query(request, Choice(sampling)), DEFAULTS, **more)


def grown(runs, request, known, sampling=GREEDY):
    base = None if request == request.baseline else runs(request.baseline)
    return view.grown(request, runs(request), base, sampling, view.query(request, Choice(sampling)), DEFAULTS, known)


def grow(old, news):
    """What assets/js/player.js does with what is new."""
    if news["from"] == news["start"] and news["start"] != old["start"]:
        return news
    assert news["from"] == old["start"] + len(old["labels"])
    joined = {
        "labels": [*old["labels"], *news["labels"]],
        "steps": [*old["steps"][:-1], *news["steps"]],
        "groups": [*old["groups"], *news["groups"]],
    }
    return {**news, **joined, "from": old["from"]}


# The whole.


@pytest.mark.parametrize("ablation", [Ablation(), OFF, Ablation.all_sublayers(3), Ablation(norms=True)], ids=str)
def test_it_is_pure_json(runs, ablation):
    request = written(runs, replace(HELLO, ablation=ablation), 3)
    sent = json.dumps(shown(runs, request, at=3, goal=20), allow_nan=False)
    assert json.loads(sent) == shown(runs, request, at=3, goal=20)


def test_every_position_has_its_ten_likeliest_tokens_by_the_models_own_numbers(runs):
    request = written(runs, HELLO, 2)
    run, sent = runs(request), shown(runs, request)
    assert (sent["labels"], sent["n_prompt"], sent["start"]) == (run.labels, 4, 0)
    assert len(sent["steps"]) == 6
    for logits, step in zip(run.trace.logits, sent["steps"], strict=True):
        probabilities = logits.softmax(-1)
        ids = [row[0] for row in step["top"]]
        assert ids == logits.argsort(descending=True, stable=True)[:10].tolist()
        for token, label, probability, logit in step["top"]:
            assert label == tokenizer("gpt2").label(token)
            assert probability == float(probabilities[token])
            assert logit == float(logits[token])


def test_O_COR_04_O_ACT_05_probability_and_logit_stand_under_their_names(runs):
    token, _, probability, logit = shown(runs, HELLO)["steps"][-1]["top"][0]
    assert (token, probability, logit) == (
        17442,
        pytest.approx(1.459506e-4, abs=1e-9),
        pytest.approx(2.241168, abs=1e-5),
    )
    columns = [say(lang, f"bars.column_{name}") for lang in ("en", "zh") for name in ("probability", "logit")]
    assert columns == ["probability", "logit", "概率", "logit"]


def test_a_position_knows_which_token_the_text_took(runs):
    request = written(runs, HELLO, 2)
    logits, steps = runs(request).trace.logits, shown(runs, request)["steps"]
    for i, token in enumerate(runs(request).ids[1:]):
        chosen, label, probability, logit, rank = steps[i]["chosen"]
        assert (chosen, label) == (token, tokenizer("gpt2").label(token))
        assert (probability, logit) == (float(logits[i].softmax(-1)[token]), float(logits[i, token]))
        assert rank == 1 + int((logits[i] > logits[i, token]).sum())
    assert "chosen" not in steps[-1]
    assert steps[3]["chosen"][4] == 1  # greedy


def test_with_something_off_a_position_says_what_it_was_before(runs):
    request = replace(HELLO, ablation=OFF)
    base, run, steps = runs(HELLO), runs(request), shown(runs, request)["steps"]
    assert steps[-1]["top"][0][0] == 33554  # O-ABL-02
    assert steps[-1]["was"][0][0] == 17442
    assert [step["was"] for step in steps] == [step["top"] for step in shown(runs, HELLO)["steps"]]
    assert [step["kl"] for step in steps] == kl_divergence(base.trace.logits, run.trace.logits).tolist()
    assert not any("was" in step or "kl" in step for step in shown(runs, HELLO)["steps"])


# It grows.


@pytest.mark.parametrize(
    ("prompt", "ablation", "sampling"),
    [("Hello, I am", Ablation(), GREEDY), ("a你", OFF, GREEDY), (" ", Ablation(), Sampling(1.3))],
    ids=["greedy", "with something off", "sampled"],
)
def test_piece_by_piece_is_the_whole_also_past_the_context(runs, prompt, ablation, sampling):
    """FIX-A's context is 16."""
    request = Request("fix_a", prompt, (), ablation)
    request = written(runs, request, 10, sampling)
    player = shown(runs, request, sampling)
    for _ in range(9):
        known = len(runs(request).ids)
        request = written(runs, request, 1, sampling)
        player = grow(player, grown(runs, request, known, sampling))
        assert same({**player, "at": None}, {**shown(runs, request, sampling), "at": None})


def same(one, other):
    """Alike but for the last digits: texts of other lengths are added up in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == pytest.approx(other, abs=1e-5) if isinstance(one, float) else one == other


def test_past_the_context_the_window_is_sent_whole_with_its_place(runs):
    request = written(runs, HELLO, 13)
    sent = grown(runs, request, known=16)
    assert (sent["start"], sent["from"], sent["at"]) == (1, 1, 16)
    assert len(sent["labels"]) == len(sent["steps"]) == 16


def test_a_text_keeps_its_name_while_it_grows_and_no_other_has_it(runs):
    name = view.text_id(HELLO)
    assert view.text_id(written(runs, HELLO, 2)) == name
    others = [replace(HELLO, prompt="Hello, I a"), replace(HELLO, model="gpt2"), replace(HELLO, ablation=OFF)]
    assert len({name, *map(view.text_id, others)}) == 4
    assert view.text_id(replace(HELLO, prompt="\udc0b"))


# Characters.


@pytest.mark.parametrize(
    ("prompt", "groups"),
    [
        ("你好", [[0, 1, "你"], [2, 3, "好"]]),
        ("a你b", [[1, 2, "你"]]),
        ("Hello", []),
        ("🙂", [[0, 1, "🙂"]]),
    ],
)
def test_O_TOK_03_tokens_that_share_a_character_stand_together(runs, prompt, groups):
    sent = shown(runs, Request("fix_a", prompt))
    assert sent["groups"] == groups
    assert "\ufffd" not in "".join(sent["labels"])
    assert len(set(sent["labels"])) == len(sent["labels"])


def test_O_TOK_03_every_part_names_its_bytes(runs):
    labels = shown(runs, Request("fix_a", "你好"))["labels"]
    assert [label.strip("⟨⟩").upper().replace(" ", "") for label in labels] == ["E4BD", "A0", "E5A5", "BD"]


def test_half_a_character_is_not_shown_as_a_character(runs):
    cheese = tokenizer("gpt2").encode("🧀")
    assert len(cheese) == 3
    for count in (1, 2):
        sent = shown(runs, Request("fix_a", "a", tuple(cheese[:count])))
        assert "\ufffd" not in json.dumps(sent["groups"], ensure_ascii=False)


def test_a_character_completed_by_a_new_token_takes_its_first_tokens_in(runs):
    cheese, player = tuple(tokenizer("gpt2").encode("🧀")), shown(runs, Request("fix_a", "a"))
    for count in (1, 2, 3):
        player = grow(player, grown(runs, Request("fix_a", "a", cheese[:count]), known=count))
    assert player["groups"] == [[1, 3, "🧀"]]


# Notices.


def noticed(runs, request, sampling=GREEDY):
    notices = shown(runs, request, sampling)["notices"]
    assert notices.keys() == {"zh", "en"}
    assert len(notices["zh"]) == len(notices["en"])
    return " ".join(notices["en"])


def test_an_ordinary_run_has_nothing_to_notice(runs):
    assert noticed(runs, HELLO) == ""


def test_O_GEN_02_what_is_dropped_is_told_from_the_17th_token_on(runs):
    assert noticed(runs, written(runs, HELLO, 12)).count("no longer seen") == 0
    assert "17 tokens" in noticed(runs, written(runs, HELLO, 13))  # read to choose the 14th
    told = noticed(runs, written(runs, HELLO, 14))
    assert "18 tokens" in told
    assert "holds 16" in told
    assert "oldest 2 " in told


def test_O_TOK_07_a_long_prompt_tells_how_many_were_dropped(runs):
    assert "no longer seen" in noticed(runs, Request("fix_a", "the " * 30))


def test_O_TOK_06_a_trailing_space_is_explained(runs):
    assert "ends with a space" in noticed(runs, Request("fix_a", "The cat sat on the mat "))
    assert noticed(runs, Request("fix_a", "The cat sat on the mat")) == ""
    assert noticed(runs, Request("fix_a", "   ")) == ""  # O-TOK-10: nothing else is there


def test_O_TOK_08_a_lone_surrogate_is_repaired_and_told(runs):
    request = Request("fix_a", "a\udbc0b")
    assert runs(request).ids == (64, 4210, 65)
    assert noticed(runs, request).count("1 lone surrogate") == 1
    assert "repl" not in noticed(runs, Request("fix_a", "🙂"))  # a pair is a character
    json.dumps(shown(runs, request)["labels"]).encode("ascii")


def test_O_GEN_04_greedy_decoding_that_goes_round_is_told(runs):
    assert "loop" not in noticed(runs, written(runs, HELLO, 12))
    round_and_round = written(runs, HELLO, 20)
    assert round_and_round.made[10:] == (25099,) * 10  # no penalty on saying it again
    assert say("en", "notices.loops") in shown(runs, round_and_round)["notices"]["en"]
    assert say("zh", "notices.loops") in shown(runs, round_and_round)["notices"]["zh"]
    assert "loop" not in noticed(runs, written(runs, HELLO, 20), Sampling(1.0))


@pytest.mark.parametrize(
    ("made", "round"),
    [
        ([7] * 8, True),
        ([7] * 7, False),
        ([1, 2] * 4, True),
        ([9, 9, 1, 2, 3, 1, 2, 3, 1, 2, 3], True),
        ([1, 2, 3, 1, 2, 3], False),
        (list(range(8)) * 3, True),
        (list(range(8)) * 2, False),
        (list(range(9)) * 5, False),
        (list(range(40)), False),
        ([], False),
        ([7] * 8 + [1], False),
    ],
)
def test_going_round_is_one_phrase_said_again(made, round):
    assert view.goes_round(made) is round


# Why it stops.


class Ends:
    """A stand-in for a model that ends its text."""

    end_of_text = 50256
    context_length = 1024

    def trace_bytes(self, tokens):
        return tokens * self.bytes_each

    bytes_each = 1


def run_of(made, config):
    model = type("M", (), {"config": config})()
    return type("R", (), {"ids": (1, 2, *made), "n_prompt": 2, "model": model})()


def test_O_GEN_08_it_stops_at_the_end_of_the_text():
    assert view.stop(run_of((5, 50256), Ends()), DEFAULTS) == "end_of_text"
    assert view.stop(run_of((5,), Ends()), DEFAULTS) is None
    assert view.stop(run_of((), Ends()), DEFAULTS) is None


def test_it_stops_at_the_limit():
    assert view.stop(run_of((5,) * DEFAULTS.new_tokens, Ends()), DEFAULTS) == "limit"
    assert view.stop(run_of((5,) * (DEFAULTS.new_tokens - 1), Ends()), DEFAULTS) is None


def test_it_stops_before_a_trace_would_not_fit():
    config = Ends()
    config.bytes_each = DEFAULTS.run_bytes // 4
    assert view.stop(run_of((5,), config), DEFAULTS) is None
    assert view.stop(run_of((5, 6), config), DEFAULTS) == "memory"


def test_every_reason_to_stop_has_its_words():
    words = view.stop_words(DEFAULTS)
    for lang in ("zh", "en"):
        assert {f"stop_{reason}" for reason in ("end_of_text", "limit", "memory")} <= words[lang].keys()
        assert "200" in words[lang]["stop_limit"]
        assert "640 MB" in words[lang]["stop_memory"]
        assert "{made}" in words[lang]["where"]  # the script fills it


# The address.


def test_a_url_says_only_what_is_not_as_by_default(runs):
    request = written(runs, replace(HELLO, ablation=OFF), 2)
    assert view.query(request, Choice(GREEDY, 7)) == {
        "model": "fix_a", "prompt": "Hello, I am", "kept": None, "made": None, "n": 2, "off": "attention.0",
        "temperature": None, "top_k": None, "top_p": None, "seed": None,
    }  # fmt: skip
    sampled = view.query(HELLO, Choice(Sampling(0.8, 40, 0.9), 7))
    assert (sampled["off"], sampled["temperature"], sampled["top_k"], sampled["top_p"], sampled["seed"]) == (
        None, 0.8, 40, 0.9, 7,
    )  # fmt: skip


def test_numbers_are_finite_even_where_the_network_overflows(runs):
    everything = Ablation(frozenset({0}), frozenset({2}), frozenset({(1, 1)}), True, True, True, True, True)
    request = replace(HELLO, ablation=everything)
    assert torch.isfinite(runs(request).trace.logits).all()
    json.dumps(shown(runs, request), allow_nan=False)
