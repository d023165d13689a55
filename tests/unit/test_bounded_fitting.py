"""Laws found while streams run: the family, its parameters, changes, units, rates, restarts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.memories import AUTO, FAMILIES, Memory, StreamLaw
from penstock.kernels.scores import table_score
from penstock.lab.caching.model_fitting import (
    CHANGES,
    EBB,
    STEADY,
    TIDE,
    ZIPF,
    drawn,
    learnt,
    steered,
)
from penstock.lab.caching.workload import FLOOR, ROOF, TOWER, WALK, alternating
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.law_fits import Fitter
from penstock.operators.bounded.law_policies import FittedHeeb, FittedLife, FittedProb
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import (
    HistogramLaw,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Gaussian, Normal, Uniform
from penstock.operators.bounded.policy_control import NEVER, Steering
from penstock.operators.bounded.policy_demands import policy_for
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.spaced_laws import Spaced, coarsened, fitted_table, spaced
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Ints
from tests.oracle.bounded_scores import direct_score

FOUND: dict[str, tuple[Law, str, dict[str, float]]] = {
    "a rising trend": (
        LinearTrend(slope=1, intercept=-1, noise=BoundedNormal(sigma=2.0, half_width=10)),
        "linear trend",
        {"slope": 1.0, "sigma": 2.0},
    ),
    "a falling trend": (
        LinearTrend(slope=-0.5, intercept=40, noise=Normal(sigma=3.0)),
        "linear trend",
        {"slope": -0.5, "sigma": 3.0},
    ),
    "a trend with uniform noise": (
        LinearTrend(slope=3, intercept=7, noise=Uniform(half_width=12)),
        "linear trend",
        {"slope": 3.0, "bound": 12},
    ),
    "a walk": (RandomWalk(drift=0, step=Normal(sigma=1.5)), "random walk", {"drift": 0.0}),
    "a walk with drift": (
        RandomWalk(drift=0.75, step=Gaussian(sigma=2.0)),
        "random walk",
        {"drift": 0.75, "sigma": 2.0},
    ),
    "an autoregression": (
        Ar1(phi0=30.0, phi1=0.7, sigma=6.0),
        "ar1",
        {"phi0": 30.0, "phi1": 0.7, "sigma": 6.0},
    ),
    "few keys": (ZIPF.laws[1], "stationary", {}),
    "normal around a mean": (
        LinearTrend(slope=0, intercept=500, noise=Normal(sigma=40.0)),
        "stationary",
        {"mean": 500.0, "sigma": 40.0},
    ),
}


def fed(keys: Ints, law: StreamLaw = AUTO, numeric: bool = True, every: int = 16) -> Fitter:
    fitter = Fitter(law, numeric=numeric)
    for at in range(0, len(keys), every):
        part = keys[at : at + every]
        fitter.observe(np.arange(at, at + len(part)), part)
        fitter.refit(at + len(part))
    return fitter


@pytest.mark.parametrize("name", FOUND)
def test_a_family_is_found_with_its_parameters(name: str) -> None:
    law, family, wanted = FOUND[name]
    fitter = fed(law.draw(1500, np.random.default_rng(5)))
    assert fitter.fit is not None
    assert fitter.fit.family == family
    parameters = fitter.facts()["parameters"]
    for parameter, value in wanted.items():
        assert parameters[parameter] == pytest.approx(value, rel=0.2, abs=0.12)
    assert fitter.facts()["bits_per_key"] < fitter.facts()["runner_up"]["bits_per_key"]


def test_the_form_of_noise_is_found() -> None:
    noises = {
        "uniform": Uniform(half_width=9),
        "normal": Normal(sigma=4.0),
        "bounded normal": BoundedNormal(sigma=4.0, half_width=6),
    }
    for form, noise in noises.items():
        trend = LinearTrend(slope=1, intercept=0, noise=noise)
        facts = fed(trend.draw(1200, np.random.default_rng(8))).facts()
        assert facts["parameters"]["noise"] == form


def test_nothing_is_said_of_few_keys() -> None:
    fitter = fed(np.arange(8))
    assert fitter.fit is None
    assert fitter.facts() == {"family": None}


@pytest.mark.parametrize("numeric", [True, False])
def test_keys_far_apart_are_counted(numeric: bool) -> None:
    names = np.random.default_rng(3).integers(-(2**62), 2**62, size=40)
    keys = names[np.random.default_rng(4).integers(0, 40, size=600)]
    fitter = fed(keys, numeric=numeric)
    assert fitter.fit is not None
    assert fitter.fit.family == "stationary"
    assert fitter.fit.law.pmf(int(names[0]), 1, History(now=0)) == pytest.approx(1 / 40, abs=0.02)


def test_what_is_declared_is_not_fitted() -> None:
    trend = LinearTrend(slope=1, intercept=-1, noise=Normal(sigma=2.0))
    keys = trend.draw(400, np.random.default_rng(1))
    declared = StreamLaw(family="linear trend", parameters={"slope": 1.1, "noise": "uniform"})
    parameters = fed(keys, declared).facts()["parameters"]
    assert (parameters["slope"], parameters["noise"]) == (1.1, "uniform")
    declared = StreamLaw(family="linear trend", parameters={"intercept": -1.0, "sigma": 2.5})
    parameters = fed(keys, declared).facts()["parameters"]
    assert (parameters["intercept"], parameters["sigma"]) == (-1.0, 2.5)
    assert parameters["slope"] == pytest.approx(1.0, abs=0.01)
    walk = StreamLaw(family="random walk", parameters={"drift": 0.5})
    assert fed(keys, walk).facts()["parameters"]["drift"] == 0.5
    tide = TIDE.laws[0].draw(400, np.random.default_rng(2))
    ar1 = fed(tide, StreamLaw(family="ar1", parameters={"phi1": 0.8})).facts()["parameters"]
    assert ar1["phi1"] == 0.8
    assert ar1["sigma"] == pytest.approx(5.0, rel=0.2)
    buckets = fed(tide, StreamLaw(family="histogram", parameters={"buckets": 7})).facts()
    assert buckets["family"] == "histogram"
    assert buckets["parameters"]["buckets"] <= 7


def test_a_law_with_all_its_parameters_is_in_force_at_once(tmp_path: Path) -> None:
    walk = StreamLaw(family="random walk", parameters={"drift": 1.0, "sigma": 2.0})
    fit = Fitter(walk, numeric=True).fit
    assert fit is not None
    assert fit.law == RandomWalk(drift=1.0, step=Gaussian(sigma=2.0))
    parameters = {"slope": 1.0, "intercept": 3.0, "noise": "bounded normal", "sigma": 2.0}
    assert Fitter(StreamLaw(family="linear trend", parameters=parameters), numeric=True).fit is None
    full = StreamLaw(family="linear trend", parameters={**parameters, "bound": 8})
    fit = Fitter(full, numeric=True).fit
    assert fit is not None
    noise = BoundedNormal(sigma=2.0, half_width=8)
    assert fit.law == LinearTrend(slope=1.0, intercept=3.0, noise=noise)
    ar1 = StreamLaw(family="ar1", parameters={"phi0": 1.0, "phi1": 0.5, "sigma": 2.0})
    fit = Fitter(ar1, numeric=True).fit
    assert fit is not None
    assert fit.law == Ar1(phi0=1.0, phi1=0.5, sigma=2.0)
    path = tmp_path / "known.parquet"
    pq.write_table(pa.table({"at": [1, 2, 3], "key": [7, 9, 7]}), path)
    offline = StreamLaw(family="offline", parameters={"file": str(path), "column": "key"})
    fit = Fitter(offline, numeric=True).fit
    assert fit is not None
    assert isinstance(fit.law, Offline)
    assert fit.law.keys.tolist() == [7, 9, 7]


def test_a_change_of_nature_is_noticed() -> None:
    for before, after in CHANGES:
        keys = drawn(before, after, 1200, 7)
        for stream in range(2):
            fitter = fed(keys[stream][:740], every=8)
            assert 560 <= fitter.since <= 690
            whole = fed(keys[stream], every=8)
            assert whole.since >= 560


def test_a_change_is_noticed_where_judgements_are_rare() -> None:
    ticks = np.arange(4000)
    generator = np.random.default_rng(14)
    noise = Normal(sigma=5.0).draw(8000, generator)
    trends = np.concatenate((ticks, 4000 - 2 * ticks)) + noise
    walks = np.cumsum(np.concatenate((noise[:4000], 9 + noise[4000:])))
    chances = 1 / np.arange(1, 101)
    few = generator.choice(100, size=8000, p=chances / chances.sum()) + 50 * (noise > 5)
    few[4000:] += 10**6
    for keys in (trends, walks, few):
        fitter = fed(keys, every=1000)
        assert 3999 <= fitter.since <= 4999
        assert fed(keys[:4000], every=1000).since == 0


def test_steady_streams_are_left_alone() -> None:
    changes = []
    for case in STEADY:
        for stream, keys in enumerate(case.draw(3000, 11)):
            changes.append((case.name, stream, fed(keys, every=8).since))
    late = [change for change in changes if change[2] > 200]
    assert len(late) <= 2, late


def test_laws_of_many_keys_are_left_alone() -> None:
    chances = 1 / np.arange(1, 40_001)
    for seed, count in ((21, 4_000), (22, 40_000)):
        law = chances[:count] / chances[:count].sum()
        keys = np.random.default_rng(seed).choice(count, size=150_000, p=law)
        fitter = fed(keys, every=1_000)
        assert fitter.since == 0
        assert fitter.facts()["family"] == "stationary"


def test_after_a_change_keys_are_counted_until_a_law_leads() -> None:
    found, taught = 0, 0
    for seed in range(6):
        keys = drawn(FLOOR, ZIPF, 2_000, 100 + seed)
        found += int(steered(keys, 30)[0][1_150:].sum())
        taught += int(learnt(FLOOR, ZIPF, keys, 30)[1_150:].sum())
    assert found > 0.85 * taught


def test_strangers_among_the_keys_are_passed_over() -> None:
    for law, family, wanted in (FOUND["a falling trend"], FOUND["a walk with drift"]):
        generator = np.random.default_rng(6)
        keys = law.draw(1500, generator)
        strange = generator.random(1500) < 0.01
        keys[strange] += generator.integers(-(10**6), 10**6, strange.sum())
        facts = fed(keys).facts()
        assert facts["family"] == family
        for parameter, value in wanted.items():
            assert facts["parameters"][parameter] == pytest.approx(value, rel=0.25, abs=0.15)


@pytest.mark.parametrize("alpha", [8.0, 40.0])
def test_windows_are_followed_in_ticks_where_rows_outlast_them(alpha: float) -> None:
    for case in (ROOF, TIDE):
        keys = case.draw(500, 2)
        rows = alternating(*keys)
        memory = Memory(rows=10, laws=(AUTO, AUTO), options={"alpha": alpha})
        steering = Steering(memory, numeric=True, budget=10, windows=(30.0, 30.0))
        cache = JoinCache(10, steering.policy(), window=30)
        cache.feed(*rows)
        steering.observe(*rows)
        steering.steer(cache, 500)
        policy = steering.policy()
        assert isinstance(policy, FittedHeeb)
        outlast = alpha > 30.0
        assert policy.windows == (cache.window_ticks() if outlast else (None, None))
        assert policy.rule().windowed is outlast


def test_names_have_counts_and_new_ones_after_a_change() -> None:
    generator = np.random.default_rng(12)
    names = generator.integers(-(2**62), 2**62, size=200)
    chances = 1 / np.arange(1, 101)
    picked = generator.choice(100, size=(2, 2, 3000), p=chances / chances.sum())
    keys = [names[np.concatenate((early, 100 + late))] for early, late in picked]
    memory = Memory(rows=10, laws=(AUTO, AUTO))
    steering = Steering(memory, numeric=False, budget=10)
    cache = JoinCache(10, steering.policy())
    rows = alternating(*keys)
    made = []
    for at in range(6000):
        part = [each[2 * at : 2 * at + 2] for each in rows]
        made.append(int(cache.feed(*part).made.sum()))
        steering.observe(part[0], part[1], part[2])
        if steering.next == at + 1:
            steering.steer(cache, at + 1)
    assert steering.policy().name == "PROB_p"
    assert all(2950 < fact["since_tick"] < 3200 for fact in steering.facts()["streams"])
    assert sum(made[3500:6000]) > 0.85 * sum(made[500:3000])


def test_units_and_bases_change_nothing_but_the_keys() -> None:
    for case in (TOWER, WALK, ZIPF, TIDE):
        keys = case.draw(800, 3)
        made, steering = steered(keys, 10)
        far = [1_000_000 * each + 250_000 for each in keys]
        made_far, steering_far = steered(far, 10)
        assert steering.families == steering_far.families
        assert made_far.sum() == pytest.approx(made.sum(), rel=0.02)
        assert steering_far.facts()["streams"][0]["parameters"]["unit"] == 1_000_000


def test_rates_are_per_tick() -> None:
    ticks = np.arange(2000)
    trend = LinearTrend(slope=1, intercept=0, noise=Normal(sigma=2.0))
    keys = trend.draw(2000, np.random.default_rng(9))
    seen = np.random.default_rng(10).random(2000) < 0.5
    fitter = Fitter(AUTO, numeric=True)
    fitter.observe(ticks[seen], keys[seen])
    assert fitter.refit(2000)
    assert fitter.fit is not None
    assert fitter.fit.rate == pytest.approx(0.5, abs=0.05)
    assert fitter.facts()["parameters"]["slope"] == pytest.approx(1.0, abs=0.01)
    walk = RandomWalk(drift=2, step=Normal(sigma=3.0)).draw(2000, np.random.default_rng(9))
    twice = Fitter(AUTO, numeric=True)
    twice.observe(np.repeat(np.arange(1000), 2), walk)
    assert twice.refit(1000)
    found = twice.facts()["parameters"]
    assert found["drift"] == pytest.approx(4.0, abs=0.5)
    assert found["sigma"] == pytest.approx(3.0 * 2**0.5, rel=0.1)


def test_batches_change_nothing_and_memory_is_bounded() -> None:
    keys = ROOF.draw(9000, 2)[0]
    ticks = np.arange(9000)
    fitters = [Fitter(AUTO, numeric=True, limit=512) for _ in range(2)]
    for begin, end in ((0, 300), (300, 301), (301, 4000), (4000, 9000)):
        fitters[0].observe(ticks[begin:end], keys[begin:end])
        for at in range(begin, end, 97):
            fitters[1].observe(ticks[at : min(at + 97, end)], keys[at : min(at + 97, end)])
        for fitter in fitters:
            fitter.refit(end)
    one, other = (fitter.arrays() for fitter in fitters)
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert len(one["keys"]) == 512
    assert sum(each.nbytes for each in one.values()) < 20_000


@pytest.mark.parametrize("case", [TOWER, WALK, ZIPF, TIDE, EBB], ids=lambda case: case.name)
@pytest.mark.parametrize("after", [None, ZIPF], ids=("steady", "changed"))
def test_a_restored_copy_has_the_same_future(case, after) -> None:
    keys = drawn(case, after, 700, 4)
    straight, _ = steered(keys, 10)
    memory = Memory(rows=10, laws=(AUTO, AUTO))
    rows = alternating(*keys)
    steering = Steering(memory, numeric=True, budget=10)
    cache = JoinCache(10, steering.policy())
    made = []
    for at in range(700):
        part = [each[2 * at : 2 * at + 2] for each in rows]
        made += [int(fed.made.sum()) for _, fed in steering.feed(cache, *part)]
        if at % 29 == 10:
            arrays, cached = steering.arrays(), cache.arrays()
            steering = Steering(memory, numeric=True, budget=10)
            steering.restore(arrays)
            cache = JoinCache(10, steering.policy())
            cache.restore(cached)
            again = steering.arrays()
            assert all(again[name].tobytes() == arrays[name].tobytes() for name in arrays)
    assert made == straight.tolist()


def test_facts_show_the_fit() -> None:
    _, steering = steered(TOWER.draw(600, 1), 10)
    facts = steering.facts()
    assert facts["policy"] == "HEEB"
    assert facts["alpha"] == pytest.approx(alpha_of(facts["mean_residence_ticks"]), rel=0.25)
    first = facts["streams"][0]
    assert first["family"] == "linear trend"
    assert first["runner_up"]["bits_per_key"] > first["bits_per_key"]
    assert first["since_tick"] < 100
    assert [FAMILIES[family] for family in steering.families] == ["linear trend"] * 2


def test_general_policies_have_no_steering() -> None:
    names = {"RAND": "RAND", "LRU": "LRU", "LFU": "LFU", "HIST": "HIST", "PROB": "PROB_p"}
    for policy, name in names.items():
        memory = Memory(rows=10, policy=policy, laws=(AUTO, AUTO))
        steering = Steering(memory, numeric=True, budget=10)
        assert steering.next == NEVER
        assert steering.policy().name == name


def test_declared_laws_serve_all_policies_that_take_them() -> None:
    trend = StreamLaw(
        family="linear trend",
        parameters={"slope": 1.0, "intercept": 0.0, "noise": "normal", "sigma": 2.0},
    )
    laws = [fit.law for fit in [Fitter(trend, numeric=True).fit] * 2 if fit is not None]
    for policy, made in (("HEEB", FittedHeeb), ("PROB", FittedProb), ("LIFE", FittedLife)):
        memory = Memory(rows=10, policy=policy, laws=(trend, trend))
        found = policy_for(memory, laws, (1.0, 1.0), (50.0, 50.0), 10)
        assert type(found) is made
        assert found.name == policy
        assert policy == "LIFE" or type(Steering(memory, numeric=True, budget=10).policy()) is made


def test_declared_weightings_win() -> None:
    keys = TOWER.draw(400, 1)
    for options, alpha in (({"alpha": 7.5}, 7.5), ({"lifetime": 4.0}, alpha_of(4.0))):
        memory = Memory(rows=10, laws=(AUTO, AUTO), options=options)
        steering = Steering(memory, numeric=True, budget=10)
        cache = JoinCache(10, steering.policy())
        rows = alternating(*keys)
        cache.feed(*rows)
        steering.observe(*rows)
        steering.steer(cache, 400)
        policy = steering.policy()
        assert isinstance(policy, FittedHeeb)
        assert policy.weighting == Exponential(alpha)


SPACED: tuple[Law, ...] = (
    LinearTrend(slope=2, intercept=-3.5, noise=Normal(sigma=3.0)),
    LinearTrend(slope=0.3, intercept=4, noise=Uniform(half_width=6)),
    LinearTrend(slope=0, intercept=4, noise=Normal(sigma=6.0)),
    RandomWalk(drift=0.5, step=Gaussian(sigma=2.0)),
    Ar1(phi0=3.0, phi1=0.6, sigma=2.0),
    Stationary(keys=np.array([0, 3, 9]), probabilities=np.array([0.2, 0.5, 0.3])),
    Stationary(keys=np.array([0, 3, 9_000_000]), probabilities=np.array([0.2, 0.5, 0.3])),
    HistogramLaw(first=-4, width=3, buckets=np.array([1.0, 3.0, 2.0])),
)


@pytest.mark.parametrize("law", SPACED, ids=lambda law: type(law).__name__)
def test_spaced_laws_score_as_their_units_do(law: Law) -> None:
    unit, base, last = 1000, 137, 5
    outer = spaced(law, unit, base)
    assert isinstance(outer, Spaced)
    assert outer.is_independent == law.is_independent
    weighting = Exponential(8.0)
    inner, found = score_table(law, weighting), fitted_table(outer, weighting)
    for key in range(-8, 40):
        wanted = table_score(inner, key, 6, last)
        assert table_score(found, unit * key + base, 6, unit * last + base) == pytest.approx(
            wanted, rel=1e-9, abs=1e-15
        )
    keys, masses = outer.distribution(2, History(now=6, last=unit * last + base))
    assert ((keys - base) % unit == 0).all()
    assert np.allclose(outer.masses(keys, 2, History(now=6, last=unit * last + base)), masses)
    assert not outer.masses(keys + 1, 2, History(now=6, last=unit * last + base)).any()
    draws = outer.draw(50, np.random.default_rng(1))
    assert np.array_equal((draws - base) // unit, law.draw(50, np.random.default_rng(1)))


@pytest.mark.parametrize(
    "law",
    [
        LinearTrend(slope=40, intercept=11, noise=Normal(sigma=700.0)),
        LinearTrend(slope=-13.5, intercept=11, noise=BoundedNormal(sigma=500.0, half_width=900)),
        RandomWalk(drift=25.0, step=Gaussian(sigma=400.0)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_wide_noise_has_coarse_tables(law: Law) -> None:
    _, cell = coarsened(law)
    assert cell > 10
    weighting = Exponential(20.0)
    table = fitted_table(law, weighting)
    history = History(now=3, last=100)
    keys = range(-900, 1500, 150)
    scores = [direct_score(law, weighting, key, history) for key in keys]
    for key, score in zip(keys, scores, strict=True):
        found = table_score(table, key, history.now, history.last)
        assert found == pytest.approx(score, abs=0.03 * max(scores))
