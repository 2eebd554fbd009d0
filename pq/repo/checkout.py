"""The checkout: a git worktree on branch `pq/<series>`, whose commits above the pin are the applied patches.

What pq keeps in git besides the branch:

- `refs/pq/releases/<release>`: the commit of a release that was set up;
- `refs/pq/known/<series>`: the highest stack that was popped, so that its commits still exist when they are pushed again;
- `pq/` in the git folder: lock, journal, remembered verdicts, and `stack`, a copy of the applied names for `pq top`, which reads it
  without loading git. Its first line says for what it is valid: the commit id, the number of names, the stamps of the queue's files.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus, RepositoryOpenFlag

from pq.core import paths
from pq.errors import NotClean, PqError
from pq.repo import commits, journal, under_way
from pq.repo.capabilities import Capabilities
from pq.repo.commits import Commit, PatchCommit
from pq.repo.files import write_synced
from pq.repo.git import environment, repository_around, run
from pq.repo.objects import GitTree, Objects
from pq.repo.refs import target
from pq.repo.transaction import Mover
from pq.repo.worktree import Worktree

_QUEUE = "pq.queue"
_RELEASES = "refs/pq/releases/"
_KNOWN = "refs/pq/known/"
_BRANCHES = "refs/heads/pq/"
_OTHER_PIN = "without patches on it, pq setup moves it; else put the old pq-pin line back, pq pop -a, and then change it"
_ATTRIBUTES = "* -text -filter -ident !working-tree-encoding\n"


@dataclass(frozen=True)
class Checkout:
    """One git worktree and the repository under it."""

    root: Path
    repository: pygit2.Repository
    queue: Path

    @cached_property
    def objects(self) -> Objects:
        """The object store."""
        return Objects(self.repository)

    @cached_property
    def folder(self) -> Path:
        """Where pq keeps its own files: in the git folder of this worktree."""
        return Path(self.repository.path) / "pq"

    @cached_property
    def mover(self) -> Mover:
        """What changes files, index, refs and queue."""
        return Mover(self.folder, self.objects, Worktree(self.root, self.objects, Capabilities.of(self.repository)), self.queue)

    @property
    def git_folder(self) -> Path:
        """What GIT_DIR is set to for hooks."""
        return Path(self.repository.path)

    @property
    def knows_queue(self) -> bool:
        """Whether the repository's config says that it belongs to this queue."""
        config = self.repository.config
        return _QUEUE in config and Path(config[_QUEUE] or "").resolve() == self.queue.resolve()

    def write_down_queue(self) -> None:
        """Have the repository's config say so."""
        if not self.knows_queue:
            self.repository.config[_QUEUE] = str(self.queue.resolve())

    def head(self, series: str) -> str:
        """The commit that the branch of a series is at. Raises NotClean where HEAD is not on that branch, or git is in the midst of a command."""
        branch = branch_of(series)
        under_way.require_none(self.repository)
        if self.repository.head_is_detached:
            raise NotClean("HEAD of the checkout is detached", hint=f"git -C {self.root} switch pq/{series}")
        head = target(self.repository, "HEAD")
        if head != branch:
            name = str(head).removeprefix("refs/heads/")
            raise NotClean(f"The checkout is on branch {name}, not on pq/{series}", hint=f"git -C {self.root} switch pq/{series}")
        found = target(self.repository, branch)
        if found is None:
            raise NotClean(f"Branch pq/{series} has no commit", hint="pq setup makes it")
        return found

    def stack(self, head: str, pin: str) -> tuple[PatchCommit, ...]:
        """The applied patches, bottom first: the commits from the pin to `head`.

        Raises NotClean for a commit that is no patch, for a merge, and where the pin is not below.
        """
        found: list[PatchCommit] = []
        oid = head
        while oid != pin:
            commit = commits.read(self.objects, oid)
            patch = commits.as_patch(commit)
            if not commit.parents:
                raise self._elsewhere(pin)
            if patch is None or len(commit.parents) > 1:
                if not self.repository.descendant_of(pygit2.Oid(hex=oid), pygit2.Oid(hex=pin)):
                    raise self._elsewhere(pin)
                subject = paths.text(commit.message.partition(b"\n")[0])
                raise NotClean(
                    f"commit {oid[:12]} ({subject}) is not a patch of the series",
                    hint=self._way_to_a_line(pin) if len(commit.parents) > 1 else "pq repair makes a patch of it",
                )
            found.append(patch)
            oid = commit.parents[0]
        return tuple(reversed(found))

    def commits_above(self, head: str, pin: str) -> tuple[Commit, ...]:
        """All commits from the pin to `head`, lowest first, whoever made them. Raises NotClean for a merge, and where the pin is not below."""
        found: list[Commit] = []
        oid = head
        while oid != pin:
            commit = commits.read(self.objects, oid)
            if len(commit.parents) != 1:
                if not commit.parents:
                    raise self._elsewhere(pin)
                raise NotClean(f"commit {oid[:12]} is a merge", hint=self._way_to_a_line(pin))
            found.append(commit)
            oid = commit.parents[0]
        return tuple(reversed(found))

    def amended(self, series: str) -> dict[str, str]:
        """What the commits of a branch that `git commit --amend` made were made of, as the reflog has it."""
        entries = self.repository.references[branch_of(series)].log()
        return {str(each.oid_new): str(each.oid_old) for each in entries if (each.message or "").startswith("commit (amend)")}

    def _elsewhere(self, pin: str) -> NotClean:
        series = self.series_on
        if series is not None and pin in self.amended(series).values():
            way = f"git -C {self.root} reset --soft {pin[:12]}, and a new commit, makes a patch of it"
            return NotClean("the commit of the release itself was amended", hint=way)
        return NotClean(f"The checkout does not stand on the pin {pin[:12]}", hint=_OTHER_PIN)

    def _way_to_a_line(self, pin: str) -> str:
        return f"git -C {self.root} rebase {pin[:12]} makes a line of the commits; then pq repair"

    def remember(self, head: str, names: Sequence[str], *, stamp: str) -> None:
        """Write down the applied names for `pq top`, unless they are written down already."""
        content = "\n".join([f"{head} {len(names)} {stamp}", *names]).encode("utf-8", "surrogateescape") + b"\n"
        place = self.folder / "stack"
        if not place.exists() or place.read_bytes() != content:
            self.folder.mkdir(exist_ok=True)
            write_synced(place, content)

    def staged(self, index: Path | None) -> str:
        """The tree of an index: of the one that git commits, which may be a temporary one, or of the checkout's own.

        Raises PqError where there are conflicts in it.
        """
        named = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        return run("write-tree", cwd=self.root, **named).strip()

    def unrefreshed(self) -> tuple[str, ...]:
        """The tracked files that are not what the top commit says."""
        return tuple(sorted(self._changed()))

    def untracked(self, endings: Iterable[str]) -> tuple[str, ...]:
        """The files with such names that git does not know, ignored or not."""
        return tuple(run("ls-files", "--others", "-z", "--", *(f"*{each}" for each in endings), cwd=self.root).split("\0")[:-1])

    def unmerged(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Which of these files git has in conflict."""
        return tuple(sorted(self.mover.worktree.unmerged() & set(paths)))

    def _changed(self) -> dict[str, FileStatus]:
        ignored = FileStatus.WT_NEW | FileStatus.IGNORED
        found = self.repository.status(untracked_files="no").items()
        return {path: FileStatus(flag) for path, flag in found if flag & ~ignored}

    def release(self, name: str) -> str | None:
        """The commit of a release that was set up; None where the ref holds none, as while it is fetched."""
        reference = self.repository.references.get(_RELEASES + name)
        try:
            return None if reference is None else str(reference.peel(pygit2.Commit).id)
        except (pygit2.GitError, ValueError):
            return None

    def release_names(self) -> tuple[str, ...]:
        """The names of all releases that were set up."""
        refs = (name for name in self.repository.references if name.startswith(_RELEASES))
        return tuple(name for ref in refs if self.release(name := ref.removeprefix(_RELEASES)) is not None)

    def releases(self) -> tuple[str, ...]:
        """The commits of all releases that were set up."""
        return tuple(commit for name in self.release_names() if (commit := self.release(name)) is not None)

    def set_release(self, name: str, commit: str) -> None:
        """Write down the commit of a release."""
        self.objects.flush()
        self.repository.references.create(_RELEASES + name, pygit2.Oid(hex=commit), force=True)

    def release_ref(self, name: str) -> str:
        """The ref that holds a release."""
        return _RELEASES + name

    def peel_release(self, name: str) -> str:
        """The commit of a release whose ref may hold an annotated tag, which the ref is then set past."""
        commit = self.release(name)
        if commit is None:
            self.repository.references.delete(_RELEASES + name)
            raise PqError(f"{name} is a tag, but not of a commit", hint="name the tag of a release")
        self.set_release(name, commit)
        return commit

    def compiled(self, release: str) -> Path:
        """Where the compiled libraries of a release are kept, which are not in its tree."""
        return self.folder / "compiled" / release

    def known(self, series: str, pin: str) -> dict[tuple[str, str, str], PatchCommit]:
        """Commits of an earlier push, by parent, patch name and identity."""
        tip = self.ref(_KNOWN + series)
        try:
            stack = self.stack(tip, pin) if tip else ()
        except NotClean:
            stack = ()
        return {(patch.commit.parents[0], patch.patch, patch.identity): patch for patch in stack}

    def keep(self, series: str, tip: str) -> None:
        """Keep the commits up to `tip` for a later push, unless a higher stack over them is kept already."""
        kept = self.ref(_KNOWN + series)
        if kept is not None and (kept == tip or self.repository.descendant_of(pygit2.Oid(hex=kept), pygit2.Oid(hex=tip))):
            return
        self.repository.references.create(_KNOWN + series, pygit2.Oid(hex=tip), force=True)

    def set_ref(self, name: str, commit: str | None) -> None:
        """Set a ref of pq's own, or delete it."""
        self.objects.flush()
        if commit is not None:
            self.repository.references.create(name, pygit2.Oid(hex=commit), force=True)
        elif name in self.repository.references:
            self.repository.references.delete(name)

    def branch(self, series: str) -> str | None:
        """The commit of the branch of a series, if there is one."""
        return self.ref(branch_of(series))

    def is_on(self, series: str) -> bool:
        """Whether HEAD is on the branch of a series."""
        return target(self.repository, "HEAD") == branch_of(series)

    @property
    def series_on(self) -> str | None:
        """The series whose branch HEAD is on."""
        name = target(self.repository, "HEAD") or ""
        return name.removeprefix(_BRANCHES) if name.startswith(_BRANCHES) else None

    def start_branch(self, series: str, commit: str) -> None:
        """Put HEAD on the branch of a series, made at `commit` if there is none, and lay its files. git refuses if edits are in the way."""
        self.objects.flush()
        if self.branch(series) is None:
            self.repository.references.create(branch_of(series), pygit2.Oid(hex=commit))
        run("switch", "--quiet", "--no-overwrite-ignore", branch_of(series).removeprefix("refs/heads/"), cwd=self.root)

    def grep(self, words: Sequence[str]) -> int:
        """Let git search the files, and print what it finds; its exit code."""
        return subprocess.run(["git", "grep", *words], cwd=self.root, env=environment(), check=False).returncode

    def commits_in(self, spec: str) -> tuple[str, ...]:
        """The commits of a range, the oldest first. Raises PqError where git knows no such range."""
        return tuple(run("rev-list", "--reverse", "--topo-order", spec, "--", cwd=self.root).split())

    def merge_base(self, one: str, other: str) -> str:
        """The commit that two commits have in common. Raises NotClean where there is none."""
        found = self.repository.merge_base(pygit2.Oid(hex=one), pygit2.Oid(hex=other))
        if found is None:
            raise NotClean(f"commit {one[:12]} has nothing in common with {other[:12]}", hint=_OTHER_PIN)
        return str(found)

    def user(self) -> tuple[str, str] | None:
        """Name and address of git's user, if it is told who that is."""
        try:
            found = self.repository.default_signature
        except KeyError:
            return None
        return found.name, found.email

    def tree_of(self, commit: Commit) -> GitTree:
        """The tree of a commit."""
        return GitTree(self.objects, commit.tree)

    def read_commit(self, commit: str) -> Commit:
        """A commit."""
        return commits.read(self.objects, commit)

    def write_release(self, files: Iterable[tuple[str, int, bytes]], *, date: int, message: str) -> str:
        """Commit the files of a release (path, mode, content) under pq's identity; the same id on every machine."""
        nodes = {path: (mode, self.objects.write("blob", content)) for path, mode, content in files}
        tree = self.objects.edit(self.objects.write("tree", b""), dict(nodes))
        made = commits.write(self.objects, tree=tree, parents=(), author=commits.IDENTITY, date=(date, 0), message=message)
        self.objects.flush()
        return made.oid

    def ref(self, name: str) -> str | None:
        """The commit that a ref holds, if there is one."""
        return target(self.repository, name)


def branch_of(series: str) -> str:
    """The branch of a series, as git names it in full."""
    return f"{_BRANCHES}{series}"


def is_interrupted(root: Path) -> bool:
    """Whether a command left something to settle in the worktree at `root`, asked without opening it."""
    folder = root / ".git"
    with contextlib.suppress(OSError):
        folder = root / folder.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
    return (folder / "pq" / journal.NAME).exists()


def open_checkout(root: Path, *, queue: Path) -> Checkout:
    """Open the worktree at `root` of the queue in `queue`. Raises PqError where there is none.

    What libgit2 writes from then on, objects, refs and index, is on the disk before a name leads to it, as with git's own refs.
    """
    pygit2.option(pygit2.enums.Option.ENABLE_FSYNC_GITDIR, True)  # noqa: FBT003 - it takes no name
    try:
        repository = pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH)
    except pygit2.GitError as error:
        if "object format" in str(error):
            raise PqError(
                f"The checkout at {root} has SHA-256 objects, which pq can't read", hint="clone it with SHA-1, git's default"
            ) from None
        if (root / ".git").exists():
            raise PqError(
                f"The checkout at {root} can't be opened: {error}", hint=f"git -C {root} status says what to do"
            ) from None
        raise PqError(f"No checkout at {root}", hint="pq setup makes it") from None
    if repository.is_bare or not os.path.samefile(repository.workdir, root):
        raise PqError(f"The repository at {root} has no worktree", hint="name a worktree under [upstream] checkout in pq.toml")
    if os.path.samefile(repository.path, root):  # its config could come along in a clone, and names programs that git runs
        raise PqError(f"{root} is a git folder, not a worktree", hint="name another folder under [upstream] checkout in pq.toml")
    return Checkout(root, repository, queue)


def create_checkout(root: Path, *, queue: Path) -> Checkout:
    """Make an empty checkout that knows its queue.

    Its files are the bytes of the release: no line ending is converted and no filter runs, whatever attributes say; and git writes
    no index that libgit2 can't read.
    """
    root.mkdir(parents=True, exist_ok=True)
    pygit2.init_repository(str(root))
    checkout = open_checkout(root, queue=queue)
    config = checkout.repository.config
    for key in ("core.autocrlf", "core.splitIndex", "core.fsmonitor", "index.skipHash", "index.sparse"):
        config[key] = "false"
    (Path(checkout.repository.path) / "info").mkdir(exist_ok=True)
    (Path(checkout.repository.path) / "info" / "attributes").write_text(_ATTRIBUTES)
    checkout.write_down_queue()
    return checkout


def linked_worktree(start: Path, queue: Path) -> Path | None:
    """The linked worktree around `start`, if it is one of a repository that belongs to the queue."""
    found = repository_around(start)
    if found is None or not (Path(found.path) / "commondir").exists():
        return None
    return Path(found.workdir) if Checkout(Path(found.workdir), found, queue).knows_queue else None


def series_of(start: Path) -> str | None:
    """The series whose branch the worktree around `start` is on, if its repository belongs to a queue."""
    found = repository_around(start)
    return Checkout(start, found, start).series_on if found is not None and _QUEUE in found.config else None


def queue_of(start: Path) -> Path | None:
    """The queue that the checkout around `start` belongs to, by its git config `pq.queue`."""
    found = repository_around(start)
    return Path(found.config[_QUEUE] or "") if found is not None and _QUEUE in found.config else None
