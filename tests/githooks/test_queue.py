"""A commit in the queue's repository: what is in the index parses, applies, compiles and has no faults."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT, World, git
from tests.editing.conftest import patch
from tests.githooks.conftest import commit


def _commit(world: World, *words: str) -> tuple[int, str]:
    said = commit(world.queue, "commit", "-qm", "work", *words)
    return said.code, said.err


def _break(world: World, name: str = "f-fifteen.patch") -> None:
    """Make a patch for a line that is not there."""
    place = world.queue / "patches" / name
    text = place.read_text().replace(" line 14\n", " line fourteen\n").replace("-line 15\n", "-line was another\n")
    place.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("index ")))


def test_a_queue_that_is_right_is_committed(two: World) -> None:
    git(two.queue, "add", "-A")

    assert _commit(two) == (0, "")

    assert json.loads((two.checkout / ".git" / "pq" / "staged.json").read_text())


def test_a_patch_that_does_not_apply_is_not_committed(two: World) -> None:
    _break(two)
    git(two.queue, "add", "-A")

    code, said = _commit(two)

    assert code == 1
    assert said == (
        "pq: what is to be committed has faults\n"
        "  patches/f-fifteen.patch: error: it does not apply to what is below it; pq verify says why [does-not-apply]\n"
        "hint: pq lint, and pq verify, say more; git commit --no-verify commits it all the same\n"
    )
    assert _commit(two, "--no-verify")[0] == 0


def test_what_counts_is_the_index_and_not_the_worktree(two: World) -> None:
    good = patch(two, "f-fifteen.patch")
    git(two.queue, "add", "-A")
    _break(two)
    assert _commit(two)[0] == 0

    git(two.queue, "add", "-A")
    (two.queue / "patches" / "f-fifteen.patch").write_text(good)
    (two.queue / "series" / "v1").write_text("# pq-pin: v1\n")

    assert "[does-not-apply]" in _commit(two)[1]


def test_a_file_that_is_not_added_is_missing(two: World) -> None:
    git(two.queue, "add", "series")

    code, said = _commit(two)

    assert (code, said.count("[missing]")) == (1, 2)


def test_commit_a_and_commit_file_have_an_index_of_their_own(two: World) -> None:
    git(two.queue, "add", "-A")
    git(two.queue, "commit", "-qm", "both")
    (two.queue / "README").write_text("words\n")
    git(two.queue, "add", "README")
    _break(two)

    assert _commit(two, "README") == (0, "")
    assert "[does-not-apply]" in _commit(two, "-a")[1]
    assert "[does-not-apply]" in _commit(two, "patches/f-fifteen.patch")[1]


def test_what_does_not_compile_is_not_committed(two: World) -> None:
    (two.checkout / "m.py").write_text("x = (\n")
    assert commit(two.checkout, "commit", "-qam", "m: broken", "--no-verify").code == 0
    git(two.queue, "add", "-A")

    code, said = _commit(two)

    assert (code, "  patches/m-broken.patch: error: m.py:1: SyntaxError: '(' was never closed [syntax]\n" in said) == (1, True)


def test_white_space_that_a_fixer_stripped_is_seen(two: World) -> None:
    lines = (two.checkout / "f.txt").read_text().splitlines()
    (two.checkout / "f.txt").write_text("\n".join([*lines[:29], "", "thirty", *lines[30:]]) + "\n")
    commit(two.checkout, "commit", "-qam", "f: thirty")
    change = (two.checkout / "f.txt").read_text().replace("thirty\n", "thirty and one\n")
    (two.checkout / "f.txt").write_text(change)
    commit(two.checkout, "commit", "-qam", "f: more")
    place = two.queue / "patches" / "f-more.patch"
    assert "\n \n" in place.read_text()
    place.write_text(place.read_text().replace("\n \n", "\n\n"))
    git(two.queue, "add", "-A")

    assert "[stripped-context]" in _commit(two)[1]


def test_a_series_that_can_not_be_read_is_said_with_its_place(two: World) -> None:
    with two.series.open("a") as series:
        series.write("x.patch p1\n")
    git(two.queue, "add", "-A")

    assert "  series/v1:4: error: expected an option such as -p1 or -R, or a # comment [series-line]\n" in _commit(two)[1]


def test_pq_toml_is_read_as_it_is_committed(two: World) -> None:
    (two.queue / "pq.toml").write_text("[upstream]\nsource = 1\n")
    git(two.queue, "add", "-A")

    code, said = _commit(two)

    assert (code, said.splitlines()[0]) == (1, "pq: pq.toml:2: [upstream] source has to be a string")


def test_every_series_counts_and_one_without_its_release_is_not_proven(two: World) -> None:
    git(two.queue, "add", "-A")
    git(two.queue, "commit", "-qm", "both")
    (two.queue / "series" / "v2").write_text("f-five.patch\n")
    git(two.queue, "add", "-A")

    code, said = _commit(two)
    assert (code, "Series v2 is not proven: its release is not in a checkout here" in said) == (1, True)
    assert _commit(two, "--no-verify")[0] == 0

    (two.queue / "README").write_text("words\n")  # and what is not changed is not asked about again
    git(two.queue, "add", "-A")
    assert _commit(two) == (0, "")


def test_other_files_of_the_repository_are_nobodys_business(two: World) -> None:
    _break(two)
    (two.queue / "README").write_text("words\n")
    git(two.queue, "add", "README")

    assert _commit(two) == (0, "")


def test_a_queue_in_a_folder_of_a_larger_repository(two: World) -> None:
    outer = two.root / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    shutil.rmtree(two.queue / ".git")
    two.queue.rename(outer / "queue")
    inner = World(outer)
    git(inner.checkout, "config", "pq.queue", str(inner.queue))
    for who in ("name", "email"):
        git(outer, "config", f"user.{who}", "Ada")
    assert (
        inner.pq("hooks", "install").out
        == "Hook pre-commit is installed in the queue\nHook pre-merge-commit is installed in the queue\n"
    )
    git(outer, "add", "-A")
    assert commit(outer, "commit", "-qm", "all").code == 0

    _break(inner)

    assert "[does-not-apply]" in commit(outer, "commit", "-qam", "broken").err
    assert "[does-not-apply]" in commit(inner.queue / "series", "commit", "-qam", "broken").err


def test_a_link_in_the_index_leads_nowhere(two: World) -> None:
    place = two.queue / "patches" / "f-five.patch"
    shutil.copy(place, two.root / "f-five.patch")
    place.unlink()
    place.symlink_to(two.root / "f-five.patch")
    git(two.queue, "add", "-A")

    assert "[unsafe-path]" in _commit(two)[1]


def test_nothing_of_the_queue_is_run(two: World) -> None:
    for name, text in (("pre-apply", "#!/bin/sh\ntouch ../ran\n"), ("pre-commit", "#!/bin/sh\ntouch ../ran\n")):
        (two.queue / "hooks" / name).write_text(text)
        (two.queue / "hooks" / name).chmod(0o755)
    mine = two.queue / "mine"
    mine.write_text("#!/bin/sh\ntouch ../ran ../../ran\n")
    mine.chmod(0o755)
    with (two.queue / "pq.toml").open("a") as toml:
        toml.write('[check]\nmodules = ["m"]\npython = "./mine"\n')
    git(two.queue, "add", "-A")

    assert _commit(two)[0] == 0

    assert not list(two.root.rglob("ran"))


def test_the_hook_of_the_framework_does_the_same(two: World, monkeypatch: pytest.MonkeyPatch, user_cache: Path) -> None:
    """The real pre-commit makes an environment of its own for it, of this repository."""
    assert user_cache
    source = two.root / "source"
    shutil.copytree(PROJECT, source, ignore=shutil.ignore_patterns(".git", ".venv", ".checkout", "*_cache", "__pycache__"))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "pq"), ("tag", "v0")):
        git(source, *words)
    two.pq("hooks", "uninstall")
    said = f"repos:\n- repo: {source}\n  rev: v0\n  hooks:\n  - id: pq\n"
    (two.queue / ".pre-commit-config.yaml").write_text(said)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(two.root / "framework"))
    subprocess.run([Path(sys.executable).with_name("pre-commit"), "install"], cwd=two.queue, check=True, capture_output=True)
    git(two.queue, "add", "-A")
    assert commit(two.queue, "commit", "-qm", "good").code == 0

    _break(two)
    git(two.queue, "add", "-A")
    refused = commit(two.queue, "commit", "-qm", "bad")

    assert refused.code == 1
    assert "what is committed to a patch queue" in refused.err
    assert "[does-not-apply]" in refused.err
    assert os.environ["PRE_COMMIT_HOME"]


@pytest.mark.parametrize("text", [b"", b"<html>404</html>\n"])
def test_a_patch_that_has_lost_its_diff_is_not_committed(two: World, text: bytes) -> None:
    """A file that was cut off, or what a server said in its place."""
    git(two.queue, "add", "-A")
    assert _commit(two)[0] == 0
    (two.queue / "patches" / "f-five.patch").write_bytes(text)

    code, said = _commit(two, "-a")

    assert (code, "patches/f-five.patch: error: it had a diff, and has none any more [lost-diff]\n" in said) == (1, True)


def test_two_queues_that_are_right_and_do_not_go_together_are_not_merged(two: World) -> None:
    git(two.queue, "add", "-A")
    assert _commit(two)[0] == 0
    git(two.queue, "branch", "other")
    edits = {"main": ("a.patch", b"line 30\n", b"thirty\n"), "other": ("b.patch", b"line 30\n", b"XXX\n")}
    for branch, (name, old, new) in edits.items():
        git(two.queue, "switch", "-q", branch)
        two.patch(name, {"f.txt": git(two.checkout, "show", "HEAD:f.txt").encode().replace(old, new)})
        if branch == "other":  # on top of the file, so that the two series merge
            lines = two.series.read_bytes().splitlines(keepends=True)
            two.series.write_bytes(b"".join((*lines[:1], lines[-1], *lines[1:-1])))
        git(two.queue, "add", "-A")
        assert _commit(two)[0] == 0, branch
    git(two.queue, "switch", "-q", "main")

    merged = commit(two.queue, "merge", "-q", "other")

    assert (merged.code, "[does-not-apply]" in merged.err) == (1, True), merged


def test_the_queue_in_the_index_need_not_be_in_the_worktree(two: World) -> None:
    git(two.queue, "add", "-A")
    (two.queue / "pq.toml").unlink()

    assert _commit(two) == (0, "")
