"""The gate: runs `hooks/pre-apply` on candidates and remembers what it let through (design, section 8).

A verdict belongs to the trees before and after, and to everything that could change it: pq's version, the bytes of all files
under `hooks/`, the table `[check]`, and the interpreter with its packages. `final` verdicts are those of a push's last tree,
which alone is imported; they count for an inner tree as well, not the other way round. On disk: `pq/verdicts.json` in the git
folder, `{<configuration>: {"<before> <after>[ <digest>]": <final>}}`, only accepted ones; the digest is of what the patch expects and allows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pq
from pq.engine import check_events, checking, trust
from pq.engine.candidate import Candidate
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import NotChecked
from pq.repo.commits import Commit
from pq.repo.files import write_synced
from pq.repo.git import environment

_VERDICTS = 5000
_SHOWN, _SHOWN_WIDTH = 12, 200
_GRACE = 1.0


@dataclass(frozen=True)
class Gate:
    """What stands between candidates and the checkout of one workspace. `budget` is for how many seconds the hook may do dear checks."""

    workspace: Workspace
    tell: Tell
    budget: int | None = None

    @property
    def hook(self) -> Path:
        """The executable."""
        return self.workspace.queue.root / "hooks" / "pre-apply"

    def judge(self, candidates: Sequence[Candidate], *, fresh: bool = False) -> check_events.Rejected | None:
        """The first rejection, or None if all candidates may pass. `fresh`: whatever is remembered."""
        left = candidates if fresh else self._unknown(candidates)
        if not left:
            return None
        self._require_ready()
        self.workspace.checkout.objects.flush()
        rejected, whole = self._run(left)
        if rejected is None:
            self._remember(candidates, whole=whole)
        elif fresh:
            names = [each.patch for each in candidates]
            self._forget(candidates[names.index(rejected.patch) :])
        return rejected

    def require_ready(self, candidates: Sequence[Candidate]) -> None:
        """Raise NotChecked where the gate has to be asked about these, and can't be."""
        if self._unknown(candidates):
            self._require_ready()

    def passed(self, before: str, commit: Commit, *, final: bool) -> bool:
        """Whether a candidate was let through under the configuration of now."""
        known = self._verdicts.get(self._configuration, {}).get(_key(before, commit))
        return known is not None and (known or not final)

    def _has_passed(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the last of them was let through as a last one, above whatever it was.

        Dear checks are about the last tree, and about what all the patches expect: so nothing may be expected but by the last one.
        """
        *below, last = (_about(each.commit) for each in candidates)
        verdicts = self._verdicts.get(self._configuration, {})
        known = any(final and key.partition(" ")[2] == last for key, final in verdicts.items())
        return known and not any(" " in about for about in below)

    def _unknown(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        last = len(candidates) - 1
        unknown = [
            number
            for number, candidate in enumerate(candidates)
            if not self.passed(candidate.before, candidate.commit, final=number == last)
        ]
        return (
            [candidate for number, candidate in enumerate(candidates) if number in unknown or number == last] if unknown else ()
        )

    def _require_ready(self) -> None:
        if not self.hook.is_file():
            raise NotChecked(
                "hooks/pre-apply is missing, so nothing can be checked",
                hint="pq init puts the shipped one there, --no-check goes without",
            )
        if not os.access(self.hook, os.X_OK):
            raise NotChecked("hooks/pre-apply is not executable", hint=f"chmod +x {self.hook}")
        trust.require(self.workspace)

    def _run(self, candidates: Sequence[Candidate]) -> tuple[check_events.Rejected | None, bool]:
        """The first rejection, and whether the hook did all its checks."""
        workspace = self.workspace
        asked = "".join(f"{each.patch}\t{each.before}\t{each.commit.tree}\n" for each in candidates)
        path = os.pathsep.join([str(Path(sys.executable).parent), environment().get("PATH", os.defpath)])
        variables = environment(
            GIT_DIR=str(workspace.checkout.git_folder),
            PQ_QUEUE=str(workspace.queue.root),
            PQ_CHECKOUT=str(workspace.queue.checkout),
            PQ_SERIES=workspace.queue.series_name,
            PATH=path,
            PYTHONPYCACHEPREFIX=str(workspace.checkout.folder / "bytecode"),  # what lies in __pycache__ is not what was trusted
        )
        if workspace.queue.candidate is not None:
            variables["PQ_CANDIDATE"] = str(workspace.queue.candidate)
        if self.budget is not None:
            variables["PQ_BUDGET"] = str(self.budget)
        try:
            code, output = _ask([str(self.hook)], asked.encode("utf-8", "surrogateescape"), variables, workspace.queue.root)
        except OSError as error:
            raise NotChecked(f"hooks/pre-apply can't be run: {error.strerror}", hint="see its first line") from None
        said = output.decode("utf-8", "surrogateescape").splitlines()
        for line in said:
            if line.startswith("note\t"):
                self.tell(check_events.Noted(line.removeprefix("note\t")))
        if code:
            return _rejection(candidates, said, code), True
        left_out = tuple(line.removeprefix("partly\t") for line in said if line.startswith("partly\t"))
        if not left_out or self._has_passed(candidates):
            return None, True
        self.tell(check_events.CheckedInPart(left_out))
        return None, False

    def _remember(self, candidates: Sequence[Candidate], *, whole: bool) -> None:
        verdicts = dict(self._verdicts.get(self._configuration, {}))
        for number, each in enumerate(candidates):
            key = _key(each.before, each.commit)
            verdicts[key] = (whole and number == len(candidates) - 1) or verdicts.get(key, False)
        self._write(dict(list(verdicts.items())[-_VERDICTS:]))

    def _forget(self, candidates: Sequence[Candidate]) -> None:
        """What was let through once and is rejected now was let through by chance, or by something that no digest sees."""
        about = {_key(each.before, each.commit) for each in candidates}
        verdicts = self._verdicts.get(self._configuration, {})
        if about & verdicts.keys():
            self._write({key: final for key, final in verdicts.items() if key not in about})

    def _write(self, verdicts: dict[str, bool]) -> None:
        self._verdicts[self._configuration] = verdicts
        write_synced(self._file, json.dumps(self._verdicts).encode())

    @property
    def _file(self) -> Path:
        return self.workspace.checkout.folder / "verdicts.json"

    @cached_property
    def _verdicts(self) -> dict[str, dict[str, bool]]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            stored = json.loads(self._file.read_bytes())
            if isinstance(stored, dict):
                return {
                    configuration: {key: final for key, final in verdicts.items() if isinstance(final, bool)}
                    for configuration, verdicts in stored.items()
                    if isinstance(verdicts, dict)
                }
        return {}

    @cached_property
    def _configuration(self) -> str:
        """A digest of all that a verdict depends on but the trees; of what is not trusted, no interpreter is asked, and nothing passed."""
        queue = self.workspace.queue
        if not trust.is_trusted(self.workspace):
            return ""
        digest = hashlib.sha256(f"{pq.__version__}\n{queue.config.check}\n".encode())
        digest.update(checking.interpreter(queue, self.workspace.pin).identity.encode())
        digest.update(trust.read(queue).digest.encode())
        return digest.hexdigest()


def _key(before: str, commit: Commit) -> str:
    """What a verdict is about: the trees, and what the patch says of itself that the checks go by."""
    return f"{before} {_about(commit)}"


def _about(commit: Commit) -> str:
    said = b"\n".join(line.strip() for line in commit.message.split(b"\n") if line.startswith((b"Pq-Expect:", b"Pq-Allow:")))
    return commit.tree + (f" {hashlib.sha256(said).hexdigest()[:16]}" if said else "")


def _ask(command: list[str], asked: bytes, variables: Mapping[str, str], folder: Path) -> tuple[int, bytes]:
    """Exit code and output of the hook, which has a process group: when pq is interrupted, all that the hook started ends, too."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with _signals_later():  # else one would be lost that runs already, and nobody knows of it yet
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, cwd=folder, process_group=0
            )
        output, _ = process.communicate(asked)
    except BaseException:
        if process is not None:
            _end(process)
        raise
    return process.returncode, output


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Let what would interrupt this process do so behind the block."""
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    held = [number for number, handler in handlers.items() if callable(handler)]
    for number in held:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, handlers[number])
        if came:
            raise KeyboardInterrupt


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process group and give it the time to end in its own way; what is left of it is killed."""
    try:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(_GRACE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _rejection(candidates: Sequence[Candidate], said: Sequence[str], code: int) -> check_events.Rejected:
    """The lowest patch that the hook names, with all lines about it; or the lowest of all, and the last that the hook said."""
    reasons: Mapping[str, list[str]] = {each.patch: [] for each in candidates}
    findings: Mapping[str, list[Mapping[str, object]]] = {each.patch: [] for each in candidates}
    for line in said:
        word, _, rest = line.partition("\t")
        patch, _, reason = rest.partition("\t")
        if word == "reject" and patch in reasons:
            reasons[patch].append(reason)
        elif word == "finding" and patch in findings:
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(reason)
                findings[patch] += [{**found, "patch": patch}] if isinstance(found, dict) else []
    for patch, lines in reasons.items():
        if lines:
            return check_events.Rejected(patch, tuple(lines), tuple(findings[patch]))
    ending = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
    shown = [line[:_SHOWN_WIDTH] for line in said if line.strip() and not line.startswith(("note\t", "finding\t"))][-_SHOWN:]
    return check_events.Rejected(candidates[0].patch, (f"hooks/pre-apply {ending} and named no patch", *shown))
