"""Asked once, looked at often: which runs are made, kept, refused, and how stepping relates to writing at once."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from playground import runs as module
from playground.errors import MemoryLimit, PromptEmpty, PromptTooLong
from playground.gpt.ablation import Ablation
from playground.gpt.config import PRESETS
from playground.gpt.generate import generate
from playground.gpt.sampling import GREEDY, Sampling
from playground.gpt.tokenizer import tokenizer
from playground.limits import DEFAULTS, Limits
from playground.models import HUB_SHAPES, Model
from playground.runs import Request, Runs, next_token, prompt_ids

HELLO = Request("fix_a", "Hello, I am")
TWELVE = (17442, 23487, 33885, 34454, 25099, 25099, 25099, 35628, 35628, 35628, 25099, 25099)


@pytest.fixture(scope="module")
def model(fix_a) -> Model:
    return Model("fix_a", fix_a, tokenizer("gpt2"))


@pytest.fixture
def read(monkeypatch) -> Counter[Request]:
    """How often the whole text of each request was read."""
    asked: Counter[Request] = Counter()
    real = module.read

    def counted(model, request, limits):
        asked[request] += 1
        return real(model, request, limits)

    monkeypatch.setattr(module, "read", counted)
    return asked


@pytest.fixture
def runs(model) -> Runs:
    return Runs(lambda _: model)


@pytest.fixture
def growing(monkeypatch) -> None:
    """As if the model were a large one."""
    monkeypatch.setattr(module, "GROWS_FROM", 0)


def test_the_same_request_is_answered_once(runs, read):
    first = runs(HELLO)
    assert runs(Request("fix_a", "Hello, I am")) is first
    assert runs(replace(HELLO, ablation=Ablation(attention=frozenset({0})))) is not first
    assert set(read.values()) == {1}
    assert len(read) == 2


def test_old_runs_are_dropped_by_bytes_and_made_again_alike(model, read):
    size = module.read(model, HELLO, DEFAULTS).trace.n_bytes()
    read.clear()
    runs = Runs(lambda _: model, Limits(kept_run_bytes=int(2.5 * size)))
    a, b, c = (replace(HELLO, ablation=Ablation(attention=frozenset({layer}))) for layer in range(3))
    first = runs(a)
    runs(b), runs(a), runs(c)  # b is the one unused for longest
    runs(a), runs(c)
    assert read == Counter({a: 1, b: 1, c: 1})
    runs(b)
    assert read[b] == 2
    runs(c), runs(a)
    assert read[a] == 2
    assert torch.equal(runs(a).trace.logits, first.trace.logits)


def test_of_many_small_runs_fewer_are_kept_but_never_fewer_than_one_look_needs(model, read):
    size = module.read(model, HELLO, DEFAULTS).trace.n_bytes()
    read.clear()
    offs = [frozenset(layers) for layers in ({0}, {1}, {0, 1}, {2})]
    ablations = [Ablation(attention=off) for off in offs] + [Ablation(feed_forward=off) for off in offs]
    requests = [replace(HELLO, ablation=ablation) for ablation in ablations]
    for spare, kept in ((1, 5), (6.9 * size, 6)):
        runs = Runs(lambda _: model, Limits(spare_run_bytes=int(spare)))
        for request in requests:
            runs(request)
        read.clear()
        for request in reversed(requests[-kept:]):
            runs(request)
        assert not read
        runs(requests[-kept - 1])
        assert sum(read.values()) == 1


def test_the_newest_run_is_kept_even_when_it_alone_is_too_large(model, read):
    runs = Runs(lambda _: model, Limits(kept_run_bytes=1))
    assert runs(HELLO) is runs(HELLO)
    assert read[HELLO] == 1


def test_nothing_in_a_run_is_trained_or_tracked(runs):
    assert not any(value.requires_grad for _, value, _ in runs(HELLO).trace.tensors())


def test_a_baseline_is_the_same_text_with_nothing_off():
    request = Request("m", "p", (1, 2), Ablation(norms=True))
    assert request.baseline == Request("m", "p", (1, 2))
    assert request.baseline.baseline == request.baseline
    assert hash(request.baseline) == hash(Request("m", "p", (1, 2)))


def test_a_run_counts_the_prompt_and_labels_every_token(runs):
    run = runs(replace(HELLO, made=TWELVE[:2]))
    assert run.ids == (15496, 11, 314, 716, *TWELVE[:2])
    assert (run.n_prompt, run.start) == (4, 0)
    assert run.labels[:4] == ["Hello", ",", "·I", "·am"]
    assert len(run.labels) == run.trace.logits.size(0) == 6


def test_O_GEN_02_past_the_context_the_window_is_the_last_tokens(runs, model):
    run = runs(replace(HELLO, made=(*TWELVE, 25099, 25099, 25099)))  # 19 tokens, the context holds 16
    assert (len(run.ids), run.start, len(run.labels)) == (19, 3, 16)
    with torch.inference_mode():
        window = model.gpt(torch.tensor([run.ids[3:]]))[0]
    torch.testing.assert_close(run.trace.logits, window, rtol=0, atol=1e-5)


def test_O_TOK_07_a_prompt_longer_than_the_context_is_cropped_not_refused(runs):
    run = runs(Request("fix_a", "the " * 40))
    assert run.n_prompt == len(run.ids) > 40
    assert run.start == len(run.ids) - 16


@pytest.mark.parametrize("count", [20_000, 20_001])
def test_O_TOK_07_characters_are_counted_before_anything_else(model, count, monkeypatch):
    if count <= DEFAULTS.prompt_characters:
        assert len(prompt_ids(model, "a" * count, DEFAULTS)) > 0
        return
    monkeypatch.setattr(type(model.tokenizer), "encode", lambda *_: pytest.fail("encoded before it was counted"))
    with pytest.raises(PromptTooLong) as refused:
        prompt_ids(model, "a" * count, DEFAULTS)
    assert refused.value.values == {"characters": 20_001, "limit": 20_000}


def test_O_TOK_09_an_empty_prompt_is_not_run(runs, read):
    with pytest.raises(PromptEmpty):
        runs(Request("fix_a", ""))


def test_a_trace_that_is_too_large_is_refused_with_the_limit_in_tokens(model):
    config = model.config
    runs = Runs(lambda _: model, Limits(run_bytes=config.trace_bytes(7) + 1))
    assert len(runs(Request("fix_a", "a b c d e f g")).ids) == 7
    with pytest.raises(MemoryLimit) as refused:
        runs(Request("fix_a", "a b c d e f g h i"))
    values = refused.value.values
    assert (values["tokens"], values["limit"]) == (9, 7)
    assert values["need"] == f"{config.trace_bytes(9) / 1e6:,.0f} MB"
    assert values["have"] == f"{config.trace_bytes(7) / 1e6:,.0f} MB"


def test_a_refused_request_leaves_the_kept_runs_alone(runs, read):
    first = runs(HELLO)
    with pytest.raises(PromptTooLong):
        runs(Request("fix_a", "a" * 20_001))
    assert runs(HELLO) is first


@pytest.mark.parametrize(
    "sampling", [GREEDY, Sampling(0.7, 50, 0.95), Sampling(1.5)], ids=["greedy", "top-k and top-p", "hot"]
)
def test_O_GEN_03_stepping_writes_what_writing_at_once_writes(runs, model, sampling):
    request, stepped = HELLO, []
    for _ in range(20):  # past the context of 16
        token = next_token(runs(request), sampling, seed=3)
        request = replace(request, made=(*request.made, token))
        stepped.append(token)
    at_once = [
        step.token for step in generate(model.gpt, prompt_ids(model, HELLO.prompt, DEFAULTS), 20, sampling, seed=3)
    ]
    assert stepped == at_once
    if sampling == GREEDY:
        assert stepped == [*TWELVE, *[25099] * 8]  # O-GEN-01, O-GEN-02


def test_another_seed_writes_another_text(model):
    ids = prompt_ids(model, HELLO.prompt, DEFAULTS)
    hot = Sampling(1.0)
    texts = {tuple(step.token for step in generate(model.gpt, ids, 8, hot, seed=seed)) for seed in range(5)}
    assert len(texts) == 5


def test_O_ABL_01_stepping_under_an_ablation(runs):
    off = Ablation(attention=frozenset({1}), feed_forward=frozenset({1}))
    request = replace(HELLO, ablation=off)
    for _ in range(5):
        request = replace(request, made=(*request.made, next_token(runs(request), GREEDY, 0)))
    assert request.made == (4632, 32487, 20836, 8982, 8982)


def test_O_COR_05_twenty_runs_are_bitwise_equal(model):
    logits = [module.read(model, HELLO, DEFAULTS).trace.logits for _ in range(20)]
    assert all(torch.equal(each, logits[0]) for each in logits)


def test_a_small_models_numbers_depend_on_the_text_alone(model):
    """Whatever was asked before: a text that grew, one restored from its address, one that was forgotten meanwhile."""
    runs = Runs(lambda _: model)
    grown = [runs(replace(HELLO, made=TWELVE[:count])) for count in range(9)]
    for count, run in enumerate(grown):
        restored = Runs(lambda _: model)(replace(HELLO, made=TWELVE[:count]))
        for (_, value, _), (_, again, _) in zip(run.trace.tensors(), restored.trace.tensors(), strict=True):
            assert torch.equal(value, again)


def test_only_models_beyond_the_caches_grow():
    grows = {name for name, config in (PRESETS | HUB_SHAPES).items() if config.weight_bytes >= module.GROWS_FROM}
    assert grows == set(HUB_SHAPES)
    assert "distilgpt2" in grows


def test_of_a_text_that_grows_only_what_is_new_is_read(growing, runs, read, model):
    grown = [replace(HELLO, made=made) for made in (TWELVE[:0], TWELVE[:1], TWELVE[:2], TWELVE[:6])]
    found = [runs(each) for each in grown]  # one by one, then several at once
    assert read == Counter({HELLO: 1})
    for run, anew in zip(found, [module.read(model, each, DEFAULTS) for each in grown], strict=True):
        assert (run.ids, run.n_prompt, run.start) == (anew.ids, anew.n_prompt, anew.start)
        for (path, value, _), (_, right, _) in zip(run.trace.tensors(), anew.trace.tensors(), strict=True):
            torch.testing.assert_close(value, right, rtol=0, atol=1e-5, msg=lambda said, at=path: f"{at}: {said}")


def test_what_is_compared_is_read_at_once_and_differs_by_0_where_nothing_reaches(growing, runs, read):
    grown = replace(HELLO, made=TWELVE[:2])
    runs(HELLO), runs(replace(HELLO, made=TWELVE[:1]))
    seen = runs(grown)
    off = replace(grown, ablation=Ablation(edges=frozenset({(1, 0, 4, 2)})))
    ablated, base = runs(off), runs(off.baseline, at_once=True)
    assert read == Counter({HELLO: 1, off: 1, grown: 1})
    assert torch.equal(ablated.trace.logits[:4], base.trace.logits[:4])
    assert not torch.equal(ablated.trace.logits[4:], base.trace.logits[4:])
    assert runs.baseline(off) is base
    assert runs(grown) is seen  # O-ABL-03: all switched on again, bit for bit what was seen before


def test_a_text_that_was_read_at_once_is_not_read_again_as_it_grew(growing, runs, read):
    grown = replace(HELLO, made=TWELVE[:2])
    runs(replace(HELLO, made=TWELVE[:1]))
    base = runs(grown, at_once=True)
    assert runs(grown) is base
    assert read[grown] == 1


def test_other_words_before_the_new_ones_are_another_text(growing, runs, read):
    runs(replace(HELLO, made=(1, 2, 3)))
    for other in (replace(HELLO, made=(1, 5, 3, 4)), replace(HELLO, prompt="Hello, I", made=(1, 2, 3, 4))):
        runs(other)
        assert read[other] == 1
