"""NT-Xent against Eq. 2 written as loops."""

import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.losses import nt_xent, similarities
from sfa.losses.nt_xent import Precision
from tests.cases import each

Pairs = frozenset[frozenset[int]]


def slow_nt_xent(
    z_alpha: Tensor, z_beta: Tensor, tau: float, intraview: bool, not_negatives: Pairs = frozenset()
) -> Tensor:
    """Eq. 2, anchor by anchor and negative by negative."""
    views = [z / z.norm(dim=1, keepdim=True) for z in (z_alpha, z_beta)]
    total = torch.zeros((), dtype=z_alpha.dtype)
    n = len(z_alpha)
    for own, other in (views, views[::-1]):
        for i in range(n):
            partition = torch.zeros((), dtype=z_alpha.dtype)
            for j in range(n):
                if frozenset([i, j]) in not_negatives:
                    continue
                partition = partition + (own[i] @ other[j] / tau).exp()
                if intraview and j != i:
                    partition = partition + (own[i] @ own[j] / tau).exp()
            total = total + partition.log() - own[i] @ other[i] / tau
    return total / (2 * n)


def random_views(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    return draw[0].requires_grad_(), draw[1].requires_grad_()


@settings(max_examples=30)
@given(
    n=st.integers(1, 7),
    d=st.integers(1, 5),
    tau=st.sampled_from([0.1, 0.4, 1.0]),
    intraview=st.booleans(),
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    keep_bytes=st.sampled_from([0, 100, 1 << 20]),
    excluded=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_value_and_gradient_equal_the_loops(
    n: int,
    d: int,
    tau: float,
    intraview: bool,
    rows: int,
    columns: int,
    keep_bytes: int,
    excluded: float,
    seed: int,
) -> None:
    """Whatever the tiles are, those that do not divide the rows and those larger than all of them included."""
    z_alpha, z_beta = random_views(n, d, seed)
    draw = torch.rand(n, n, generator=torch.Generator().manual_seed(seed))
    pairs = ((draw < excluded) & ~torch.eye(n, dtype=torch.bool)).nonzero().T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarities, "ROWS", rows)
        patch.setattr(similarities, "COLUMNS", columns)
        fast = nt_xent(z_alpha, z_beta, tau=tau, intraview=intraview, not_negatives=pairs, keep_bytes=keep_bytes)
        gradients = torch.autograd.grad(fast, (z_alpha, z_beta))
    slow = slow_nt_xent(z_alpha, z_beta, tau, intraview, frozenset(frozenset(pair) for pair in pairs.T.tolist()))
    torch.testing.assert_close(fast, slow)
    for a, b in zip(gradients, torch.autograd.grad(slow, (z_alpha, z_beta)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)


def dense_nt_xent(z_alpha: Tensor, z_beta: Tensor, tau: float, intraview: bool) -> Tensor:
    """The 2n × 2n matrix at once, which loops would take too long for."""
    n = len(z_alpha)
    u = torch.nn.functional.normalize(torch.cat([z_alpha, z_beta]))
    logits = (u @ u.T / tau).fill_diagonal_(-math.inf)
    if not intraview:
        logits[:n, :n] = logits[n:, n:] = -math.inf
    return (logits.logsumexp(1) - (u * u.roll(n, 0)).sum(1) / tau).mean()


@each("intraview", [True, False])
@each("keep_bytes", [0, 1_000_000, 1 << 30])
@each("dtype", [torch.float32, torch.float64])
def test_several_tiles_of_their_own_size(intraview: bool, keep_bytes: int, dtype: torch.dtype) -> None:
    exact = random_views(700, 24, 0)
    expected = dense_nt_xent(*exact, 0.4, intraview)
    z = tuple(one.detach().to(dtype).requires_grad_() for one in exact)
    loss = nt_xent(*z, tau=0.4, intraview=intraview, keep_bytes=keep_bytes)
    assert loss.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(loss.double(), expected, rtol=tolerance, atol=0)
    for ours, theirs in zip(torch.autograd.grad(loss, z), torch.autograd.grad(expected, exact), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=tolerance, atol=tolerance * float(theirs.abs().max()))


def test_bfloat16_similarities_come_close() -> None:
    exact = random_views(700, 24, 0)
    expected = dense_nt_xent(*exact, 0.4, True)
    gradients = torch.autograd.grad(expected, exact)
    z = tuple(one.detach().float().requires_grad_() for one in exact)
    loss = nt_xent(*z, tau=0.4, precision="bfloat16")
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=1e-3)
    assert loss.item() != nt_xent(*z, tau=0.4).item()
    for ours, theirs in zip(torch.autograd.grad(loss, z), gradients, strict=True):
        assert float((ours - theirs).norm() / theirs.norm()) < 0.02


@each("intraview", [True, False])
def test_bfloat16_resolves_rows_that_nearly_agree(intraview: bool) -> None:
    """Before training, rows differ from each other by less than the rounding of bfloat16."""
    common = torch.randn(24, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    exact = tuple((common + 0.01 * one.detach()).requires_grad_() for one in random_views(300, 24, 0))
    expected = dense_nt_xent(*exact, 0.4, intraview)
    gradients = torch.autograd.grad(expected, exact)
    z = tuple(one.detach().float().requires_grad_() for one in exact)
    loss = nt_xent(*z, tau=0.4, intraview=intraview, precision="bfloat16")
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for ours, theirs in zip(torch.autograd.grad(loss, z), gradients, strict=True):
        assert float((ours - theirs).norm() / theirs.norm()) < 0.01


@each("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_rows_are_computed_in_float32(dtype: torch.dtype) -> None:
    z = tuple(one.detach().to(dtype).requires_grad_() for one in random_views(50, 8, 0))
    wide = tuple(one.detach().float().requires_grad_() for one in z)
    loss, expected = nt_xent(*z), nt_xent(*wide)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, expected)
    for ours, theirs in zip(torch.autograd.grad(loss, z), torch.autograd.grad(expected, wide), strict=True):
        assert torch.equal(ours, theirs.to(dtype))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(nt_xent(*wide), expected)


def test_backward_twice_and_not_at_all() -> None:
    """Kept tiles are given back after the first backward, and must not be read by the second."""
    z = random_views(40, 8, 0)
    loss = nt_xent(*z)
    first = torch.autograd.grad(loss, z, retain_graph=True)
    nt_xent(*random_views(40, 8, 1)).backward()  # takes the memory over
    for ours, theirs in zip(torch.autograd.grad(loss, z), first, strict=True):
        torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        torch.testing.assert_close(nt_xent(*z), loss)


def test_two_losses_at_once_do_not_share_tiles() -> None:
    pairs = [random_views(60, 8, seed) for seed in (0, 1)]
    alone = [torch.autograd.grad(nt_xent(*z), z) for z in pairs]
    losses = [nt_xent(*z) for z in pairs]
    for loss, z, expected in zip(losses, pairs, alone, strict=True):
        for ours, theirs in zip(torch.autograd.grad(loss, z), expected, strict=True):
            assert torch.equal(ours, theirs)


MEMORY = """
import resource, torch
from sfa.losses import nt_xent
nt_xent(*(torch.randn(64, 8, requires_grad=True) for _ in range(2))).backward()
z = [torch.randn(6000, 32, requires_grad=True) for _ in range(2)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
nt_xent(*z, keep_bytes=0).backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_memory_is_not_quadratic() -> None:
    """One 12,000 × 12,000 matrix in float32 would be 576 MB."""
    result = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 120


@each("intraview", [True, False])
def test_gradcheck(intraview: bool) -> None:
    assert torch.autograd.gradcheck(lambda a, b: nt_xent(a, b, tau=0.5, intraview=intraview), random_views(5, 3, 0))


def test_symmetric_in_the_views_and_blind_to_row_lengths() -> None:
    z_alpha, z_beta = random_views(6, 4, 0)
    loss = nt_xent(z_alpha, z_beta)
    torch.testing.assert_close(loss, nt_xent(z_beta, z_alpha))
    torch.testing.assert_close(loss, nt_xent(z_alpha * torch.arange(1, 7).unsqueeze(1), z_beta))


def test_known_values() -> None:
    """Orthogonal, perfectly aligned rows: log(e^{1/tau} + negatives) - 1/tau."""
    eye = torch.eye(4, dtype=torch.float64)
    across, both = 3, 6
    assert nt_xent(eye, eye, tau=1.0, intraview=False).item() == pytest.approx(math.log(math.e + across) - 1)
    assert nt_xent(eye, eye, tau=1.0, intraview=True).item() == pytest.approx(math.log(math.e + both) - 1)


@each("tau", [0.002, 0.01, 0.016, 0.017, 50.0])
@each("intraview", [True, False])
def test_temperatures_at_the_ends_of_the_range_in_float32(tau: float, intraview: bool) -> None:
    """exp(1/tau) overflows float32 below tau = 0.011."""
    exact = random_views(20, 4, 0)
    expected = dense_nt_xent(*exact, tau, intraview)
    z = tuple(one.detach().float().requires_grad_() for one in exact)
    loss = nt_xent(*z, tau=tau, intraview=intraview)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(torch.autograd.grad(loss, z), torch.autograd.grad(expected, exact), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-3, atol=1e-5 * float(theirs.abs().max()))


def test_zero_rows_and_a_single_node_have_finite_gradients() -> None:
    for z in (torch.zeros(4, 3), torch.ones(1, 3)):
        z_alpha = z.clone().requires_grad_()
        nt_xent(z_alpha, z).backward()
        assert z_alpha.grad is not None
        assert z_alpha.grad.isfinite().all()


@each(
    ("shapes", "tau", "message"),
    [
        (((3, 2), (4, 2)), 0.5, "one shape"),
        (((3, 2), (3, 2)), 0.0, "above 0"),
        (((3, 2), (3, 2)), float("nan"), "above 0"),
        (((3, 2), (3, 2)), 0.001, "at least 0.0017"),
    ],
)
def test_wrong_arguments_are_named(shapes: tuple[tuple[int, int], ...], tau: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nt_xent(*(torch.ones(shape) for shape in shapes), tau=tau)


@each(
    ("pairs", "message"),
    [
        (torch.tensor([[0], [3]]), "name row 3; there are rows 0 to 2"),
        (torch.tensor([[0], [-1]]), "name row -1"),
        (torch.tensor([[0, 1], [2, 1]]), "with itself"),
        (torch.tensor([[0, 1]]), "pairs of rows"),
        (torch.tensor([[0.0], [1.0]]), "pairs of rows"),
    ],
)
def test_wrong_pairs_are_named(pairs: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nt_xent(torch.ones(3, 2), torch.ones(3, 2), not_negatives=pairs)


@each("is_fast", [True, False])
def test_auto_takes_bfloat16_where_it_is_faster(monkeypatch: pytest.MonkeyPatch, is_fast: bool) -> None:
    monkeypatch.setattr(sys.modules[nt_xent.__module__], "has_fast_bfloat16", lambda device: is_fast)
    views = [view.detach().float() for view in random_views(600, 64, 0)]

    def loss(rows: int, columns: int, tau: float, dtype: torch.dtype, precision: Precision) -> float:
        return nt_xent(*(view[:rows, :columns].to(dtype) for view in views), tau=tau, precision=precision).item()

    large = 600, 64, 0.4, torch.float32
    half = [loss(*case, "auto") != loss(*case, "full") for case in (large, (600, 64, 0.2, torch.float32))]
    assert half == [is_fast, is_fast]
    assert not is_fast or loss(*large, "auto") == loss(*large, "bfloat16")
    for exact in ((500, 64, 0.4, torch.float32), (600, 60, 0.4, torch.float32), (600, 64, 0.1, torch.float32)):
        assert loss(*exact, "auto") == loss(*exact, "full")
    assert loss(*large[:3], torch.float64, "auto") == loss(*large[:3], torch.float64, "full")


def test_an_unknown_precision_is_named() -> None:
    wrong: Precision = "half"  # type: ignore[assignment]
    with pytest.raises(InputError, match="'half'"):
        nt_xent(torch.ones(3, 2), torch.ones(3, 2), precision=wrong)


def test_bfloat16_is_refused_where_it_is_too_coarse() -> None:
    z = torch.ones(3, 2)
    nt_xent(z, z, tau=0.2, precision="bfloat16")
    with pytest.raises(InputError, match=r"below 0\.2"):
        nt_xent(z, z, tau=0.19, precision="bfloat16")


def test_a_loss_in_inference_mode_leaves_training_as_it_was() -> None:
    with torch.inference_mode():
        nt_xent(torch.randn(900, 8), torch.randn(900, 8))
    z = random_views(900, 8, 0)
    nt_xent(*z).backward()
    assert z[0].grad is not None


def test_second_derivatives_are_refused_and_not_wrong() -> None:
    z = random_views(6, 3, 0)
    with pytest.raises(InputError, match="once"):
        torch.autograd.grad(nt_xent(*z), z, create_graph=True)


@each("tau", [0.05, 0.1, 0.4])
def test_aligned_views_keep_their_digits_in_float32(tau: float) -> None:
    """The share of a positive and the 1 it is compared with cancel nearly."""
    z_alpha, noise = random_views(300, 64, 0)
    exact = z_alpha, (z_alpha + 0.1 * noise).detach().requires_grad_()
    narrow = tuple(one.detach().float().requires_grad_() for one in exact)
    expected = torch.autograd.grad(dense_nt_xent(*exact, tau, True), exact)
    plain = torch.autograd.grad(dense_nt_xent(*narrow, tau, True), narrow)
    ours = torch.autograd.grad(nt_xent(*narrow, tau=tau), narrow)
    for found, theirs, true in zip(ours, plain, expected, strict=True):
        assert (found - true).norm() < max(3 * (theirs - true).norm(), 1e-5 * true.norm())


def test_rows_of_any_length_and_views_of_two_dtypes() -> None:
    z_alpha, z_beta = (one.detach() for one in random_views(20, 4, 0))
    expected = nt_xent(z_alpha, z_beta)
    assert nt_xent(1e20 * z_alpha.float(), 1e-10 * z_beta.float()).item() == pytest.approx(expected.item(), rel=1e-5)
    for pair in ((z_alpha.float(), z_beta), (z_alpha, z_beta.float())):
        loss = nt_xent(*pair)
        assert loss.dtype == torch.float64
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


@each(("z", "message"), [(torch.ones(3, 2, dtype=torch.long), "floating-point"), (torch.ones(0, 2), "no rows")])
def test_views_that_are_none(z: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nt_xent(z, z)


def test_nan_is_not_hidden() -> None:
    z = torch.ones(5, 3)
    z[2, 1] = math.nan
    assert nt_xent(z, torch.ones(5, 3)).isnan()
