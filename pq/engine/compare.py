"""range-diff: what became of each patch from one series to another, as git compares two lines of commits."""

from __future__ import annotations

from pq.core import header
from pq.engine import rebase
from pq.engine.workspace import Workspace
from pq.queue import open_queue
from pq.repo import commits, git


def range_diff(workspace: Workspace, old: str, new: str, *, color: bool) -> str:
    """How the patches of two series differ, each on its own release. Raises PqError where one does not belong there."""
    first, second = (_line(workspace, name) for name in (old, new))
    workspace.checkout.objects.flush()
    paint = "always" if color else "never"
    return git.run(
        "range-diff", f"--color={paint}", "--no-notes", "--creation-factor=100", first, second, cwd=workspace.checkout.root
    )


def _line(workspace: Workspace, name: str) -> str:
    """The patches of a series as commits without pq's trailers, which differ anyway: `<release>..<last>`."""
    queue = workspace.queue
    there = workspace.variant(queue=open_queue(queue.root, series_name=name))
    below = there.pin_commit
    for layer in rebase.standing(there):
        described = header.read(there.parse(layer.entry, layer.content).header)
        message = f"{described.message or layer.entry.name.removeprefix(f'{name}/')}\n"
        date = described.date or there.checkout.read_commit(there.pin_commit).date
        objects, author = there.checkout.objects, commits.IDENTITY
        below = commits.write(objects, tree=layer.tree, parents=(below,), author=author, date=date, message=message).oid
    return f"{there.pin_commit}..{below}"
