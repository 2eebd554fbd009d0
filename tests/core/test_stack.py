"""What to push and what to pop."""

from __future__ import annotations

import pytest

from pq.core import series
from pq.core.stack import Stack, find_applied, to_pop, to_push
from pq.errors import NotClean, NothingToDo, PqError

ABC = b"a.patch\nb.patch\nc.patch\n"


def _stack(*applied: str, data: bytes = ABC, selected: str = "") -> Stack:
    return Stack(series.read(data, file="series"), applied, frozenset(selected))


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        (None, ["b.patch"]),
        (1, ["b.patch"]),
        (2, ["b.patch", "c.patch"]),
        (9, ["b.patch", "c.patch"]),
        (-1, ["b.patch", "c.patch"]),
        ("c", ["b.patch", "c.patch"]),
    ],
)
def test_push(goal: str | int | None, names: list[str]) -> None:
    assert [entry.name for entry in to_push(_stack("a.patch"), goal)] == names


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        (None, ["c.patch"]),
        (0, []),
        (2, ["c.patch", "b.patch"]),
        (9, ["c.patch", "b.patch", "a.patch"]),
        (-1, ["c.patch", "b.patch", "a.patch"]),
        ("a", ["c.patch", "b.patch"]),
    ],
)
def test_pop(goal: str | int | None, names: list[str]) -> None:
    assert list(to_pop(_stack("a.patch", "b.patch", "c.patch"), goal)) == names


def test_nothing_to_do_is_no_failure() -> None:
    """W74: quilt's meaning of exit code 2."""
    with pytest.raises(NothingToDo, match=r"File series fully applied, ends at patch c\.patch"):
        to_push(_stack("a.patch", "b.patch", "c.patch"), None)
    with pytest.raises(NothingToDo, match=r"Patch a\.patch is currently applied"):
        to_push(_stack("a.patch"), "a")
    with pytest.raises(NothingToDo, match="No patches in series"):
        to_push(_stack(data=b""), -1)
    with pytest.raises(NothingToDo, match="No patch removed"):
        to_pop(_stack(), -1)
    with pytest.raises(NothingToDo, match=r"Patch a\.patch is on top already"):
        to_pop(_stack("a.patch"), "a.patch")


def test_an_unknown_patch_is_refused() -> None:
    with pytest.raises(PqError, match="Patch x is not in series"):
        to_push(_stack(), "x")
    with pytest.raises(PqError, match=r"Patch b\.patch is not applied"):
        to_pop(_stack("a.patch"), "b")


@pytest.mark.parametrize(
    ("applied", "fact", "hint"),
    [
        (("b.patch",), "Applied patch b.patch no longer stands where the series has it", "pq pop -a, then push again"),
        (
            ("a.patch", "c.patch"),
            "Applied patch c.patch no longer stands where the series has it",
            "pq goto a.patch, then push again",
        ),
        (("a.patch", "x.patch"), "Applied patch x.patch is no longer in the series", "pq goto a.patch, then push again"),
    ],
)
def test_a_stack_out_of_order_is_not_pushed_on(applied: tuple[str, ...], fact: str, hint: str) -> None:
    """M9: only what stands in the way is named, and pop works all the same."""
    stack = _stack(*applied)

    with pytest.raises(NotClean) as caught:
        to_push(stack, None)

    assert (caught.value.fact, caught.value.hint, caught.value.exit_code) == (fact, hint, 5)
    assert to_pop(stack, -1) == tuple(reversed(applied))


def test_guards_hold_patches_back() -> None:
    data = b"a.patch\nb.patch #+x\nc.patch #-x\n"

    plain, selecting = _stack("a.patch", data=data), _stack("a.patch", data=data, selected="x")

    assert [entry.name for entry in to_push(plain, -1)] == ["c.patch"]
    assert [entry.name for entry in to_push(selecting, -1)] == ["b.patch"]
    with pytest.raises(PqError, match=r"Patch b\.patch is held back by its guards"):
        to_push(plain, "b")


def test_an_applied_patch_is_found_even_where_the_series_lost_it() -> None:
    stack = _stack("a.patch", "gone.patch")

    assert (stack.top, find_applied(stack, "gone.patch"), find_applied(stack, "a")) == ("gone.patch", "gone.patch", "a.patch")
    assert _stack().top is None
