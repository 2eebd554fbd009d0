"""The gate fails closed: a hook that is missing, silent, confused or dead lets nothing through (law 3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checks.conftest import script
from tests.conftest import Result, World, git
from tests.laws import nothing_changed, stands_at


def _hook(world: World, text: str) -> Path:
    return script(world.queue / "hooks" / "pre-apply", text)


def _rejected(world: World) -> Result:
    with nothing_changed(world):
        said = world.pq("push", "-a")
    assert said.code == 4, said
    return said


def test_a_missing_hook_lets_nothing_through(stacked: World) -> None:
    (stacked.queue / "hooks" / "pre-apply").unlink()

    said = _rejected(stacked)

    assert (
        said.err
        == "pq: hooks/pre-apply is missing, so nothing can be checked\nhint: pq init puts the shipped one there, --no-check goes without\n"
    )


def test_a_hook_that_is_not_executable_lets_nothing_through(stacked: World) -> None:
    hook = _hook(stacked, "#!/bin/sh\n")
    hook.chmod(0o644)

    said = _rejected(stacked)

    assert said.err == f"pq: hooks/pre-apply is not executable\nhint: chmod +x {hook}\n"


@pytest.mark.parametrize("text", ["#!/nowhere/sh\n", ""])
def test_a_hook_that_cant_be_run_lets_nothing_through(stacked: World, text: str) -> None:
    _hook(stacked, text)

    said = _rejected(stacked)

    assert said.err.startswith("pq: hooks/pre-apply can't be run: ")


HELPLESS = {
    "#!/bin/sh\nexit 1\n": "hooks/pre-apply exited with 1 and named no patch",
    "#!/bin/sh\nkill -9 $$\n": "hooks/pre-apply was killed by signal 9 and named no patch",
    "#!/bin/sh\nprintf 'reject\\tnix.patch\\tbad\\n'; exit 1\n": "reject\tnix.patch\tbad",
    "#!/bin/sh\nprintf 'reject one.patch bad\\n'; exit 1\n": "reject one.patch bad",
    "#!/bin/sh\nprintf '\\377\\000garbage'; exit 3\n": "garbage",
    "#!/bin/sh\nhead -c 3000000 /dev/urandom; exit 1\n": "hooks/pre-apply exited with 1 and named no patch",
}


@pytest.mark.parametrize("text", HELPLESS)
def test_a_hook_that_names_no_patch_of_this_push_rejects_all_the_same(stacked: World, text: str) -> None:
    _hook(stacked, text)

    said = _rejected(stacked)

    assert said.err.startswith("pq: Patch one.patch is rejected by hooks/pre-apply; the checkout is not changed by it\n")
    assert HELPLESS[text] in said.err
    assert said.out.endswith("No patches applied\n")
    assert len(said.err) < 5000


def test_a_hook_that_names_a_patch_rejects_it_and_keeps_what_is_below(stacked: World) -> None:
    _hook(
        stacked,
        "#!/bin/sh\ngrep -q two.patch && printf 'reject\\ttwo.patch\\tno\\nreject\\ttwo.patch\\tnever\\n' && exit 1\nexit 0\n",
    )

    said = stacked.pq("push", "-a")

    assert (said.code, said.out.splitlines()[-1]) == (4, "Now at patch one.patch")
    assert said.err == "pq: Patch two.patch is rejected by hooks/pre-apply; the checkout is not changed by it\n  no\n  never\n"
    stands_at(stacked, "one.patch")


def test_the_hook_is_told_what_the_contract_says(stacked: World) -> None:
    _hook(
        stacked,
        '#!/bin/sh\ncat > asked\nprintf "%s\\n" "$GIT_DIR" "$PQ_QUEUE" "$PQ_CHECKOUT" "$PQ_SERIES" "$PWD" > told\ngit ls-tree -r "$(cut -f3 asked | tail -1)" > tree\n',
    )

    stacked.pq("push", "-a", cwd=stacked.checkout / "pkg")

    asked = [line.split("\t") for line in (stacked.queue / "asked").read_text().splitlines()]
    trees = [git(stacked.checkout, "rev-parse", f"HEAD{up}^{{tree}}").strip() for up in ("~2", "~1", "")]
    assert asked == [["one.patch", trees[0], trees[1]], ["two.patch", trees[1], trees[2]]]
    git_dir, queue, checkout, series, here = (stacked.queue / "told").read_text().splitlines()
    assert Path(git_dir).resolve() == (stacked.checkout / ".git").resolve()
    assert (Path(queue), Path(checkout), series, Path(here)) == (stacked.queue, stacked.checkout, "v1", stacked.queue)
    assert (stacked.queue / "tree").read_text() == git(stacked.checkout, "ls-tree", "-r", "HEAD")


def test_the_hook_is_not_led_astray_by_a_git_around_pq(stacked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """git sets GIT_DIR and GIT_INDEX_FILE inside hooks; they break nested git calls."""
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")

    pushed = stacked.process("push", "-a")

    monkeypatch.undo()
    assert pushed.code == 0, pushed
    stands_at(stacked, "two.patch")


def test_no_check_says_so_and_the_stack_remembers(stacked: World) -> None:
    _hook(stacked, "#!/bin/sh\nexit 1\n")

    said = stacked.pq("push", "-a", "--no-check")

    assert said.code == 0
    assert said.err == "pq: NOT CHECKED, as asked for: one.patch, two.patch\nhint: pq check asks the hook about them\n"
    assert "Not checked as it stands: one.patch\nNot checked as it stands: two.patch\n" in stacked.pq("status").out


def test_a_verdict_holds_for_the_hook_that_gave_it(stacked: World) -> None:
    _hook(stacked, "#!/bin/sh\nexit 0\n")
    stacked.pq("push", "-a")
    stacked.pq("pop", "-a")

    _hook(stacked, "#!/bin/sh\nexit 1\n")

    _rejected(stacked)


def test_a_verdict_is_not_asked_for_twice(stacked: World) -> None:
    _hook(stacked, "#!/bin/sh\necho run >> ../runs\nexit 0\n")
    for _ in range(3):
        stacked.pq("push", "-a")
        stacked.pq("pop", "-a")

    assert (stacked.root / "runs").read_text() == "run\n"


def test_a_check_that_fails_takes_the_verdict_back(stacked: World) -> None:
    """The world changed in a way that no digest sees; `pq check` found it, so nobody may say that it passed."""
    _hook(stacked, "#!/bin/sh\ntest ! -e ../bad\n")
    stacked.pq("push", "-a")
    (stacked.root / "bad").touch()

    assert stacked.pq("check").code == 4

    assert "Not checked as it stands: two.patch\n" in stacked.pq("status").out
    stacked.pq("pop", "-a")
    _rejected(stacked)


def test_a_check_that_fails_leaves_the_verdicts_below(stacked: World) -> None:
    assert stacked.pq("push", "-a").code == 0
    hook = stacked.queue / "hooks" / "pre-apply"
    script = '#!/bin/sh\ntest -e "$PQ_QUEUE/../no" || exit 0\nprintf "reject\\ttwo.patch\\tno\\n"; exit 1\n'
    hook.write_text(script)
    assert stacked.pq("check").code == 0
    (stacked.root / "no").touch()

    said = stacked.pq("check")

    assert (said.code, "Patch two.patch is rejected by hooks/pre-apply; it stands in the checkout\n" in said.err) == (4, True)
    assert "Not checked as it stands: two.patch\n" in stacked.pq("status").out


def test_a_note_of_the_hook_is_passed_on(stacked: World) -> None:
    _hook(stacked, "#!/bin/sh\nprintf 'note\\tall well\\nchatter\\n'\n")

    assert (
        stacked.pq("push", "-a").out
        == "Applying patch one.patch\nApplying patch two.patch\nChecked: all well\nNow at patch two.patch\n"
    )


def test_a_hook_that_leaves_a_child_behind_holds_nobody_up(stacked: World) -> None:
    _hook(stacked, "#!/bin/sh\nsleep 5 </dev/null >/dev/null 2>&1 &\nexit 0\n")

    assert stacked.pq("push", "-a").code == 0


def test_a_hook_that_does_not_read_is_no_error(stacked: World) -> None:
    """Its standard input is closed before pq has written it all."""
    _hook(stacked, "#!/bin/sh\nexec <&-\nexit 0\n")
    for number in range(300):
        stacked.add(f"{'x' * 200}{number}.patch", b"words\n")

    assert stacked.pq("push", "-a").code == 0


def test_dry_run_asks_the_hook_too(stacked: World) -> None:
    """Law 11."""
    _hook(stacked, "#!/bin/sh\nexit 1\n")

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a", "--dry-run")

    assert said.code == 4
    assert os.path.exists(stacked.checkout)
