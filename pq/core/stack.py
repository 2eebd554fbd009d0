"""Which patches are applied, and what it takes to reach a goal. Pure plans: deciding is not doing."""

from __future__ import annotations

from dataclasses import dataclass

from pq.core.series import Entry, Series
from pq.errors import NotClean, NothingToDo, PqError


@dataclass(frozen=True, slots=True)
class Stack:
    """The applied patches, bottom first, as the checkout has them, against the series as its file has it."""

    series: Series
    applied: tuple[str, ...]
    selected: frozenset[str] = frozenset()

    @property
    def order(self) -> tuple[Entry, ...]:
        """The entries that the guards let through, in order."""
        return tuple(entry for entry in self.series.entries if entry.selected(self.selected))

    @property
    def top(self) -> str | None:
        """The patch applied last."""
        return self.applied[-1] if self.applied else None

    @property
    def unapplied(self) -> tuple[Entry, ...]:
        """What is left of the series, in order."""
        return tuple(entry for entry in self.order if entry.name not in self.applied)

    def require_top(self) -> str:
        """The patch applied last. Raises NothingToDo where there is none."""
        if not self.applied:
            raise NothingToDo("No patches applied", hint="pq push applies the next one, pq new NAME begins one")
        return self.applied[-1]

    def taking_off(self, name: str) -> str:
        """The command that takes an applied patch off, with all above it."""
        number = self.applied.index(name)
        return f"pq goto {self.applied[number - 1]}" if number else "pq pop -a"

    def require_order(self) -> None:
        """NotClean unless the applied patches are the first of the series."""
        names = tuple(entry.name for entry in self.order)
        for count, name in enumerate(self.applied):
            if names[count : count + 1] == (name,):
                continue
            what = "is no longer in the series" if name not in names else "no longer stands where the series has it"
            raise NotClean(f"Applied patch {name} {what}", hint=f"{self.taking_off(name)}, then push again")


def to_push(stack: Stack, goal: str | int | None) -> tuple[Entry, ...]:
    """The entries to push: the next one, the next N, up to a patch, or all (`goal` -1)."""
    stack.require_order()
    left = stack.unapplied
    if isinstance(goal, str):
        name = stack.series.find(goal)
        if name in stack.applied:
            raise NothingToDo(f"Patch {name} is currently applied", hint=f"pq goto {name} pops what is above it")
        names = [entry.name for entry in left]
        if name not in names:
            raise PqError(
                f"Patch {name} is held back by its guards", hint="take the guard out of the series, or name the patch's guard"
            )
        return left[: names.index(name) + 1]
    if not stack.order:
        raise NothingToDo("No patches in series", hint="write the name of a patch into the series file")
    if not left:
        raise NothingToDo(f"File series fully applied, ends at patch {stack.applied[-1]}")
    return left if goal == -1 else left[: 1 if goal is None else goal]


def to_pop(stack: Stack, goal: str | int | None) -> tuple[str, ...]:
    """The patches to pop, top first: the top, the top N, all above a patch, or all (`goal` -1)."""
    if not stack.applied:
        raise NothingToDo("No patch removed")
    if isinstance(goal, str):
        name = find_applied(stack, goal)
        above = stack.applied[stack.applied.index(name) + 1 :]
        if not above:
            raise NothingToDo(f"Patch {name} is on top already")
        return tuple(reversed(above))
    count = len(stack.applied) if goal == -1 else 1 if goal is None else goal
    return tuple(reversed(stack.applied))[:count]


def find_applied(stack: Stack, given: str) -> str:
    """The applied patch a user means; PqError where it is not applied."""
    name = given if given in stack.applied else stack.series.find(given)
    if name not in stack.applied:
        raise PqError(f"Patch {name} is not applied", hint="pq applied lists the patches that are")
    return name
