"""The public endpoints: their JSON and the numbers in it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import serving
from playground.analysis import kl_divergence, norm_statistics, residual_difference, stream_norms, top_tokens
from playground.gpt.ablation import Ablation, parse
from playground.gpt.generate import generate
from playground.gpt.sampling import Sampling
from playground.runs import Request
from serving import OWN
from ui.asking import ENDPOINTS, HELLO, raw
from ui.conftest import connect

STORY = "Once upon a time, there was a little fox"
ALL_OFF = [f"{kind}.{layer}" for layer in range(3) for kind in ("attention", "feed_forward")]


def run(prompt, model="storyteller", off=()):
    server = serving.server()
    config = server.models.get(model).config
    return server.runs(Request(model, prompt, (), parse(off, config.n_layers, config.n_heads)))


# What is public.


def test_exactly_four_endpoints_are_public(client):
    described = client.view_api(return_format="dict", print_info=False)
    assert tuple(described["named_endpoints"]) == ENDPOINTS
    assert described["unnamed_endpoints"] == {}


def test_every_endpoint_says_what_it_takes(client):
    described = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    takes = {
        name: [
            (parameter["parameter_name"], parameter["parameter_has_default"]) for parameter in endpoint["parameters"]
        ]
        for name, endpoint in described.items()
    }
    common = [("prompt", False), ("model", True), ("off", True)]
    sampling = ["max_new_tokens", "temperature", "top_k", "top_p", "seed"]
    assert takes == {
        "/generate": common + [(name, True) for name in sampling],
        "/attention": [*common, ("layer", True), ("head", True)],
        "/layer_norm": common,
        "/ablate": common,
    }


# /generate


def test_generate_has_the_shape_that_issue_2_names(ask):
    answer = ask("/generate", STORY)
    assert answer.keys() == {"text", "prompt_ids", "tokens", "stopped"}
    assert len(answer["tokens"]) == 20
    assert all(token.keys() == {"id", "label", "probability", "logit"} for token in answer["tokens"])
    assert answer["text"].startswith(STORY)
    assert answer["stopped"] == "max_new_tokens"


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "seed": 3},
        {"temperature": 1.2, "off": ["attention.2", "norms"]},
    ],
    ids=["greedy", "sampled", "ablated"],
)
def test_generate_writes_what_the_library_writes(ask, how):
    answer = ask("/generate", STORY, max_new_tokens=12, **how)
    model = serving.server().models.get("storyteller")
    sampling = Sampling(how.get("temperature", 0), how.get("top_k"), how.get("top_p"))
    ablation = parse(how.get("off", []), 6, model.config.n_heads)
    ids = model.tokenizer.encode(STORY)
    steps = list(generate(model.gpt, ids, 12, sampling, ablation, how.get("seed", 0)))
    assert answer["prompt_ids"] == ids
    assert [token["id"] for token in answer["tokens"]] == [step.token for step in steps]
    assert [token["probability"] for token in answer["tokens"]] == pytest.approx(
        [step.probability for step in steps], rel=1e-5
    )
    assert [token["logit"] for token in answer["tokens"]] == pytest.approx([step.logit for step in steps], abs=1e-5)
    assert answer["text"] == model.tokenizer.decode([*ids, *(step.token for step in steps)])


def test_O_GEN_01_O_GEN_02(ask):
    answer = ask("/generate", HELLO, model=OWN, max_new_tokens=20)
    twelve = [17442, 23487, 33885, 34454, 25099, 25099, 25099, 35628, 35628, 35628, 25099, 25099]
    assert [token["id"] for token in answer["tokens"]] == [*twelve, *[25099] * 8]
    assert answer["prompt_ids"] == [15496, 11, 314, 716]  # O-TOK-01
    assert answer["tokens"][0]["probability"] == pytest.approx(1.459506e-4, abs=1e-8)


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        pytest.param("Every effort moves you", [6109, 3626, 6100, 345], id="O-TOK-01"),
        pytest.param("a<|endoftext|>b", [64, 27, 91, 437, 1659, 5239, 91, 29, 65], id="O-TOK-02 inside"),
        pytest.param("<|endoftext|>", [27, 91, 437, 1659, 5239, 91, 29], id="O-TOK-02 alone"),
        pytest.param("你好", [19526, 254, 25001, 121], id="O-TOK-03"),
        pytest.param("The cat sat on the mat", [464, 3797, 3332, 319, 262, 2603], id="O-TOK-06"),
        pytest.param("The cat sat on the mat ", [464, 3797, 3332, 319, 262, 2603, 220], id="O-TOK-06 with a space"),
        pytest.param("   ", [220, 220, 220], id="O-TOK-10"),
        pytest.param("a\x00b", [64, 188, 65], id="O-TOK-11 NUL"),
        pytest.param("\x1b[31mred", [215, 58, 3132, 76, 445], id="O-TOK-11 ESC"),
    ],
)
def test_prompts_are_read_as_they_are(ask, prompt, ids):
    assert ask("/generate", prompt, model=OWN, max_new_tokens=1)["prompt_ids"] == ids
    label = serving.server().models.get(OWN).tokenizer.label
    assert ask("/attention", prompt, model=OWN)["labels"] == [label(token) for token in ids]


def test_O_TOK_08_half_a_surrogate_in_json_is_repaired():
    event, answer = raw("/generate", prompt="a\udbc0b", model=OWN, max_new_tokens=1)
    assert event == "complete"
    assert answer["prompt_ids"] == [64, 4210, 65]


def test_O_COR_05_twenty_answers_are_alike_to_the_last_digit():
    assert len({str(raw("/ablate", prompt=HELLO, model=OWN)) for _ in range(20)}) == 1


def test_another_seed_another_text_the_same_seed_the_same(ask):
    def text(seed):
        return ask("/generate", STORY, temperature=1.5, seed=seed, max_new_tokens=8)["text"]

    assert text(1) == text(1) != text(2)


def test_O_GEN_07_a_top_k_above_the_vocabulary_is_all_of_it(ask):
    how = {"temperature": 1.0, "seed": 5, "max_new_tokens": 6}
    assert ask("/generate", STORY, top_k=60000, **how) == ask("/generate", STORY, top_k=0, **how)
    assert ask("/generate", STORY, top_k=0, **how) == ask("/generate", STORY, **how)


# /attention


def test_O_ATT_01_attention_is_the_weights_masked_cells_null(ask):
    answer = ask("/attention", HELLO, model=OWN)
    assert answer["labels"] == ["Hello", ",", "·I", "·am"]
    expected = [
        [1],
        [0.540292, 0.459708],
        [0.273647, 0.563106, 0.163247],
        [0.238786, 0.256426, 0.342785, 0.162003],
    ]
    for row, known in zip(answer["weights"], expected, strict=True):
        assert row[: len(known)] == pytest.approx(known, abs=2e-5)
        assert row[len(known) :] == [None] * (4 - len(known))


def test_O_ATT_01_another_layer_and_head(ask):
    last = ask("/attention", HELLO, model=OWN, layer=2, head=1)["weights"][-1]
    assert last == pytest.approx([0.318485, 0.269294, 0.190739, 0.221481], abs=2e-5)


def test_O_ATT_02_O_ATT_06_repeated_tokens_stay_apart_and_rows_sum_to_1(ask):
    answer = ask("/attention", "the the the the", model=OWN)
    assert answer["weights"][-1] == pytest.approx([0.208625, 0.317097, 0.285569, 0.188709], abs=2e-5)
    assert len(answer["labels"]) == 4
    assert all(sum(w for w in row if w is not None) == pytest.approx(1, abs=1e-6) for row in answer["weights"])


def test_O_ATT_12_past_the_context_labels_rows_and_columns_are_the_window(ask):
    answer = ask("/attention", "one two three four five six seven eight nine ten " * 3, model=OWN)
    assert len(answer["labels"]) == len(answer["weights"]) == len(answer["weights"][0]) == 16


def test_without_the_causal_mask_the_future_shows(ask):
    weights = ask("/attention", HELLO, model=OWN, off=["causal_mask"])["weights"]
    assert all(sum(w for w in row if w is not None) == pytest.approx(1, abs=1e-6) for row in weights)


# /layer_norm


def test_O_ACT_01_layer_norm(ask):
    answer = ask("/layer_norm", HELLO, model=OWN)
    assert answer["labels"] == ["Hello", ",", "·I", "·am"]
    names = [
        (0, "norm_1"),
        (0, "norm_2"),
        (1, "norm_1"),
        (1, "norm_2"),
        (2, "norm_1"),
        (2, "norm_2"),
        (None, "final_norm"),
    ]
    assert [(norm["layer"], norm["name"]) for norm in answer["norms"]] == names
    known = [  # mean and variance before, mean and variance after
        (-0.103815, 0.103346, -0.027114, 0.981207),
        (-0.107385, 0.332812, -0.107552, 0.931453),
        (0.195345, 0.435416, -0.005944, 0.991001),
        (0.208549, 0.236100, 0.020173, 1.046535),
        (-0.014213, 0.628086, -0.061751, 0.659350),
        (-0.137231, 0.616599, -0.037082, 0.830195),
        (-0.656300, 0.408810, -0.041859, 0.742082),
    ]
    for norm, expected in zip(answer["norms"], known, strict=True):
        assert norm.keys() == {"layer", "name", "before", "normalised", "after"}
        found = [norm[stage]["mean"][-1] for stage in ("before", "after")]
        found[1:1] = [norm["before"]["std"][-1] ** 2]
        assert [*found, norm["after"]["std"][-1] ** 2] == pytest.approx(expected, abs=1e-5)
        assert norm["normalised"]["mean"][-1] == pytest.approx(0, abs=1e-6)


def test_layer_norm_says_what_the_library_says(ask):
    answer = ask("/layer_norm", STORY, off=["feed_forward.1", "head.0.2"])
    found = norm_statistics(run(STORY, off=["feed_forward.1", "head.0.2"]).trace)
    assert len(answer["norms"]) == len(found) == 13
    for told, norm in zip(answer["norms"], found, strict=True):
        for stage in ("before", "normalised", "after"):
            assert told[stage]["mean"] == pytest.approx(getattr(norm, stage).mean.tolist(), abs=1e-6)
            assert told[stage]["std"] == pytest.approx(getattr(norm, stage).std.tolist(), abs=1e-6)


# /ablate


def test_ablate_with_nothing_off_changes_nothing(ask):
    answer = ask("/ablate", STORY)
    assert answer.keys() == {"before", "after", "kl_nats", "residual_difference", "stream_norms"}
    assert answer["before"] == answer["after"]
    assert answer["kl_nats"] == 0
    assert len(answer["before"]) == 10
    assert all(token.keys() == {"label", "probability"} for token in answer["before"])
    assert len(answer["stream_norms"]) == 13


@pytest.mark.parametrize(
    ("off", "winner"),
    [
        pytest.param(["attention.1", "feed_forward.1"], 4632, id="O-ABL-01"),
        pytest.param(["attention.0"], 33554, id="O-ABL-02 attention"),
        pytest.param(["feed_forward.0"], 36859, id="O-ABL-02 feed-forward"),
        pytest.param(ALL_OFF, 12705, id="O-ABL-03"),
        pytest.param(["head.1.0"], 17442, id="O-ABL-06"),
    ],
)
def test_the_winner_is_the_right_one(ask, off, winner):
    label = serving.server().models.get(OWN).tokenizer.label
    answer = ask("/ablate", HELLO, model=OWN, off=off)
    assert answer["before"][0] == {"label": label(17442), "probability": pytest.approx(1.459506e-4, abs=1e-8)}
    assert answer["after"][0]["label"] == label(winner)
    assert (answer["residual_difference"] == 0) == (off == ALL_OFF)


def test_O_ABL_01_O_ABL_03_writing_under_an_ablation(ask):
    def written(off, count):
        answer = ask("/generate", HELLO, model=OWN, off=off, max_new_tokens=count)
        return [token["id"] for token in answer["tokens"]]

    assert written(["attention.1", "feed_forward.1"], 5) == [4632, 32487, 20836, 8982, 8982]
    assert written(ALL_OFF, 4) == [12705, 17425, 43654, 43654]


def test_ablate_says_what_the_library_says(ask):
    off = ["attention.3", "head.1.2", "scaling"]
    answer, before, after = ask("/ablate", STORY, off=off), run(STORY), run(STORY, off=off)
    assert answer["kl_nats"] == pytest.approx(
        float(kl_divergence(before.trace.logits[-1], after.trace.logits[-1])), rel=1e-5
    )
    assert answer["residual_difference"] == pytest.approx(residual_difference(after.trace), rel=1e-5)
    assert answer["stream_norms"] == pytest.approx(stream_norms(after.trace)[:, -1].tolist(), rel=1e-5)
    top = top_tokens(after.trace.logits[-1:], 10)
    assert [token["label"] for token in answer["after"]] == [
        after.model.tokenizer.label(t) for t in top.ids[0].tolist()
    ]


def test_the_word_mean_says_what_off_means(ask):
    zeroed, averaged = (ask("/ablate", STORY, off=["feed_forward.2", *how]) for how in ([], ["mean"]))
    after = run(STORY, off=["mean", "feed_forward.2"])
    assert zeroed["kl_nats"] != averaged["kl_nats"]
    assert averaged["kl_nats"] == pytest.approx(
        float(kl_divergence(run(STORY).trace.logits[-1], after.trace.logits[-1])), rel=1e-5
    )
    assert ask("/ablate", STORY, off=["mean"])["kl_nats"] == 0
    written = ask("/generate", STORY, off=["head.1.0", "mean"], max_new_tokens=4)
    ids = written["prompt_ids"] + [token["id"] for token in written["tokens"]]
    model = serving.server().models.get("storyteller")
    logits = model.gpt(torch.tensor([ids]), Ablation(heads=frozenset({(1, 0)}), mean=True))[0]
    assert logits[-5:-1].argmax(-1).tolist() == ids[-4:]


def test_O_COR_07_the_norms_of_the_stream(ask):
    norms = ask("/ablate", HELLO, model=OWN)["stream_norms"]
    assert [norms[i] for i in (0, 2, 4, 6)] == pytest.approx([0.955503, 1.946435, 2.241941, 2.591585], abs=1e-5)


# Many at once.


def test_O_ABL_05_two_clients_do_not_mix():
    label = serving.server().models.get(OWN).tokenizer.label

    def winners(off):
        client = connect()
        return [
            client.predict(HELLO, model=OWN, off=off, api_name="/ablate")["after"][0]["label"] for _ in range(20)
        ]  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        ablated, plain = pool.map(winners, (["attention.0"], None))
    assert (ablated, plain) == ([label(33554)] * 20, [label(17442)] * 20)


def test_O_CON_01_everybody_gets_the_answer_to_their_own_prompt():
    def ask(k):
        return raw("/generate", prompt=f"user {k}", model=OWN, max_new_tokens=3)

    alone = [ask(k) for k in range(20)]
    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(ask, range(20)))
    assert together == alone
    encode = serving.server().models.get(OWN).tokenizer.encode
    assert [answer["prompt_ids"] for _, answer in together] == [encode(f"user {k}") for k in range(20)]


def test_an_ablation_asked_for_leaves_no_trace(ask):
    before = ask("/generate", HELLO, model=OWN, max_new_tokens=3)
    for off in (["attention.0"], ["norms"], ALL_OFF):
        ask("/ablate", HELLO, model=OWN, off=off)
    assert ask("/generate", HELLO, model=OWN, max_new_tokens=3) == before
    gpt = serving.server().models.get(OWN).gpt
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in gpt.modules())
    with torch.inference_mode():
        assert torch.equal(gpt(torch.tensor([[15496]])), gpt(torch.tensor([[15496]]), Ablation()))
