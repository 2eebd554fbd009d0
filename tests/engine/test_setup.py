"""init and setup: a queue from nothing, a checkout from a git repository, once and again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import MODULE, NUMBERS, World, git
from tests.laws import nothing_changed, stands_at
from tests.proof.stopper import deaths


@pytest.fixture
def fresh(tmp_path: Path) -> World:
    """An upstream with tag v1, and no queue."""
    made = World(tmp_path)
    made.release("v1", {"numbers.txt": NUMBERS, "pkg/module.py": MODULE})
    made.queue.mkdir()
    return made


def _init(world: World, source: str = "../upstream", pin: str = "v1", *more: str) -> None:
    said = world.pq("init", "--source", source, "--pin", pin, *more)
    assert said.code == 0, said


def test_init_lays_out_a_queue(fresh: World) -> None:
    said = fresh.pq("init", "--source", "../upstream", "--pin", "v1")

    assert said.code == 0
    assert said.out == (
        "Made pq.toml\nMade series/v1\nMade hooks/pre-apply\nMade .gitattributes\nMade .gitignore\nMade patches/\nNow pq setup fetches the release\n"
    )
    assert fresh.series.read_bytes() == b"# pq-pin: v1\n"
    assert os.access(fresh.queue / "hooks" / "pre-apply", os.X_OK)
    assert (fresh.queue / "patches").is_dir()


def test_init_leaves_alone_what_is_there(fresh: World) -> None:
    (fresh.queue / ".gitignore").write_bytes(b"mine\n")
    _init(fresh)

    with nothing_changed(fresh):
        again = fresh.pq("init", "--source", "../upstream", "--pin", "v1")

    assert again.code == 2
    assert again.err == (
        f"pq: There is a queue at {fresh.queue} already\nhint: pq setup makes its checkout, pq status says where it stands\n"
    )
    assert (fresh.queue / ".gitignore").read_bytes() == b"mine\n"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--source", "elsewhere"), "source is ../upstream"),
        (("--pin", "v2"), "series is v1"),
        (("--checkout", "there"), "checkout is .checkout"),
    ],
)
def test_init_makes_no_other_queue_of_one_that_is_there(fresh: World, words: tuple[str, ...], what: str) -> None:
    _init(fresh)

    with nothing_changed(fresh):
        again = fresh.pq("init", *words)

    key = what.partition(" ")[0]
    assert again.code == 1
    assert again.err == (
        f"pq: There is a queue at {fresh.queue} already, whose {what}\n"
        f"hint: edit [upstream] {key} in {fresh.queue / 'pq.toml'}, then pq setup\n"
    )


def test_init_puts_a_lost_hook_back(fresh: World) -> None:
    """What the gate's hint says."""
    _init(fresh)
    (fresh.queue / "hooks" / "pre-apply").unlink()

    said = fresh.pq("init")

    assert said.out.startswith("Made hooks/pre-apply\n")
    assert os.access(fresh.queue / "hooks" / "pre-apply", os.X_OK)


def test_kill_init_anywhere_and_it_is_done_again(fresh: World) -> None:
    """Law 5. pq.toml makes a folder a queue, and comes last."""
    words = ("init", "--source", "../upstream", "--pin", "v1")

    for _ in deaths(words, fresh.queue, signal.SIGKILL, step=5):
        assert fresh.pq(*words).code in (0, 2)
        assert fresh.series.read_bytes() == b"# pq-pin: v1\n"
        assert os.access(fresh.queue / "hooks" / "pre-apply", os.X_OK)
        shutil.rmtree(fresh.queue)
        fresh.queue.mkdir()


@pytest.mark.parametrize("source", ["../größe", "../日本", "../😀", 'a"b\\c', "../with space"])
def test_any_source_can_be_written_down(fresh: World, source: str) -> None:
    shutil.move(fresh.upstream, fresh.queue / source)

    _init(fresh, source)

    assert fresh.pq("setup").code == 0
    stands_at(fresh, None)


@pytest.mark.parametrize("pin", ["../evil", "/evil", "a..b", "v 1", "", "-v"])
def test_a_pin_that_can_be_no_series_is_refused(fresh: World, pin: str) -> None:
    with nothing_changed(fresh):
        said = fresh.pq("init", "--source", "../upstream", f"--pin={pin}")

    assert said.code == 1
    assert f"{pin!r} can't be the name of a series" in said.err
    assert not (fresh.root / "evil").exists()


@pytest.mark.parametrize("form", ["relative", "absolute", "url"])
def test_setup_takes_a_path_or_a_url(fresh: World, form: str) -> None:
    _init(fresh, {"relative": "../upstream", "absolute": str(fresh.upstream), "url": fresh.upstream.as_uri()}[form])

    said = fresh.pq("setup")

    assert (said.code, said.out) == (0, "Checkout .checkout is ready\n")
    commit = git(fresh.upstream, "rev-parse", "v1").strip()
    assert fresh.series.read_bytes() == f"# pq-pin: v1 {commit}\n".encode()
    assert git(fresh.checkout, "rev-parse", "HEAD").strip() == commit
    assert git(fresh.checkout, "symbolic-ref", "HEAD") == "refs/heads/pq/v1\n"
    stands_at(fresh, None)


def test_an_annotated_tag_is_its_commit(fresh: World) -> None:
    git(fresh.upstream, "tag", "-a", "-m", "annotated", "v1-annotated")
    _init(fresh, pin="v1-annotated")

    assert fresh.pq("setup").code == 0

    assert git(fresh.checkout, "rev-parse", "refs/pq/releases/v1-annotated") == git(fresh.upstream, "rev-parse", "v1")
    assert git(fresh.checkout, "rev-parse", "HEAD") == git(fresh.upstream, "rev-parse", "v1")
    stands_at(fresh, None)


def test_a_tag_with_a_slash_is_a_series_in_a_folder(fresh: World) -> None:
    git(fresh.upstream, "tag", "release/1.0")
    _init(fresh, pin="release/1.0")

    assert fresh.pq("setup").code == 0

    stands_at(fresh, None)
    (fresh.queue / "patches" / "a.patch").write_bytes(b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-line 1\n+one\n")
    with (fresh.queue / "series" / "release" / "1.0").open("a") as series:
        series.write("a.patch\n")
    assert fresh.pq("push").code == 0
    assert "In no series" not in fresh.pq("status").out


def test_a_bare_commit_is_a_nightly(fresh: World) -> None:
    """Queues published as "for v0.5.6" often fit only a commit before it."""
    fresh.release("v2", {"numbers.txt": NUMBERS})
    commit = git(fresh.upstream, "rev-parse", "v1").strip()
    _init(fresh, pin=commit)

    assert fresh.pq("setup").code == 0

    assert git(fresh.checkout, "rev-parse", "HEAD").strip() == commit
    stands_at(fresh, None)


def _files(world: World) -> set[str]:
    return {place.relative_to(world.queue).as_posix() for place in world.queue.rglob("*")}


@pytest.mark.parametrize("pin", ["v9", "0123456789" * 4])
def test_a_release_that_is_not_there_is_named_and_nothing_is_left(fresh: World, pin: str) -> None:
    _init(fresh, pin=pin)
    before = _files(fresh)

    said = fresh.pq("setup")

    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"pq: {pin} can't be fetched from ../upstream: git fetch failed: ")
    assert said.err.endswith("hint: is [upstream] source right, and is there such a tag?\n")
    assert _files(fresh) == before


def test_a_tag_of_something_else_is_no_release(fresh: World) -> None:
    git(fresh.upstream, "tag", "tree", "v1^{tree}")
    _init(fresh, pin="tree")

    said = fresh.pq("setup")

    assert said.code == 1, said
    assert "tree" in said.err


@pytest.mark.parametrize("source", ["../nowhere", "file:///nowhere", "--upload-pack=touch evil", "ext::sh -c 'touch evil'"])
def test_a_source_that_is_not_there_is_named(fresh: World, source: str) -> None:
    _init(fresh, source)
    before = _files(fresh)

    said = fresh.pq("setup")

    assert said.code == 1
    assert f"pq: v1 can't be fetched from {source}: " in said.err
    assert _files(fresh) == before
    assert not list(fresh.root.rglob("evil"))


def test_a_release_published_anew_is_refused(fresh: World) -> None:
    _init(fresh)
    wrong = "0123456789" * 4
    fresh.series.write_bytes(f"# pq-pin: v1 {wrong}\n".encode())
    before = _files(fresh)

    said = fresh.pq("setup")

    assert (said.code, said.out) == (5, "")
    assert said.err.startswith(f"pq: The series is made for v1 at {wrong}, what was fetched is ")
    assert _files(fresh) == before


def test_a_second_setup_does_nothing(stacked: World) -> None:
    with nothing_changed(stacked):
        said = stacked.pq("setup")

    assert (said.code, said.out) == (0, "Checkout .checkout was ready\n")


def test_setup_brings_head_back_to_the_branch(stacked: World) -> None:
    stacked.pq("push", "--no-check")
    git(stacked.checkout, "switch", "-q", "--detach", "HEAD~1")

    said = stacked.pq("setup")

    assert (said.code, said.out) == (0, "Checkout .checkout is ready\n")
    stands_at(stacked, "one.patch")


def test_setup_does_not_switch_over_edits(stacked: World) -> None:
    """Law 1."""
    stacked.pq("push", "--no-check")
    git(stacked.checkout, "switch", "-q", "--detach", "HEAD~1")
    (stacked.checkout / "numbers.txt").write_bytes(b"mine\n")

    with nothing_changed(stacked):
        said = stacked.pq("setup")

    assert said.code == 1, said
    assert "numbers.txt" in said.err


@pytest.mark.parametrize("made", ["file", "folder"])
def test_what_stands_where_the_checkout_goes_is_left_alone(fresh: World, made: str) -> None:
    _init(fresh)
    if made == "file":
        fresh.checkout.write_bytes(b"mine\n")
    else:
        fresh.checkout.mkdir()
        (fresh.checkout / "mine").write_bytes(b"mine\n")
    before = _files(fresh)

    said = fresh.pq("setup")

    assert said.code == 1
    assert said.err.startswith(f"pq: {fresh.checkout} is in the way: it is no checkout\nhint: ")
    assert _files(fresh) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_kill_setup_anywhere_and_it_is_done_again(fresh: World, number: signal.Signals) -> None:
    """Law 5. Every fourth point, since most lie in one folder that is thrown away."""
    _init(fresh)

    for point in deaths(("setup",), fresh.queue, number, step=9):
        said = fresh.pq("setup")
        assert said.code == 0, (point, said)
        stands_at(fresh, None)
        assert not list(fresh.queue.glob("*.pq-new*")), point
        shutil.rmtree(fresh.checkout)

    stands_at(fresh, None)


HOSTILE = """
[core]
    autocrlf = true
    eol = crlf
    splitIndex = true
    untrackedCache = true
    fsmonitor = true
    attributesFile = ~/attributes
    excludesFile = ~/excludes
    hooksPath = ~/hooks
    quotePath = true
    abbrev = 4
[index]
    version = 4
    skipHash = true
    threads = 2
[feature]
    manyFiles = true
[fetch]
    prune = true
    pruneTags = true
    writeCommitGraph = true
[remote "origin"]
    fetch = +refs/heads/*:refs/remotes/origin/*
[tag]
    gpgSign = true
[commit]
    gpgSign = true
[diff]
    noprefix = true
    external = false
[init]
    defaultBranch = strange
    templateDir = ~/template
[submodule]
    recurse = true
[filter "shout"]
    clean = tr a-z A-Z
    smudge = tr a-z A-Z
"""


def test_the_users_configuration_changes_no_byte(fresh: World, sealed: Path) -> None:
    """Line endings, filters, index formats, hooks: the checkout is pq's, and its bytes are the release's."""
    (sealed / ".gitconfig").write_text(HOSTILE)
    (sealed / "attributes").write_text("* text=auto eol=crlf filter=shout ident\n")
    (sealed / "excludes").write_text("*\n")
    (sealed / "hooks").mkdir()
    hook = sealed / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    files = {"crlf.txt": b"a\r\nb\r\n", "lf.txt": b"a\nb\n", "id.txt": b"$Id$\n"}
    fresh.environment = {"GIT_CONFIG_GLOBAL": "/dev/null"}
    _release_by_a_clean_git(fresh, "v2", {**files, ".gitattributes": b"*.txt text eol=crlf filter=shout\n"})
    _init(fresh, pin="v2")

    assert fresh.pq("setup").code == 0
    for name, old in files.items():
        new = old.replace(b"a", b"A").replace(b"$Id", b"$My")
        diff = b"".join(
            b"%s%s" % (mark, line) for mark, lines in ((b"-", old), (b"+", new)) for line in lines.splitlines(keepends=True)
        )
        count = old.count(b"\n")
        text = b"--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n%s" % (name.encode(), name.encode(), count, count, diff)
        place = fresh.queue / "patches" / f"{name}.patch"
        place.write_bytes(text)
        with (fresh.queue / "series" / "v2").open("a") as series:
            series.write(f"{name}.patch\n")

    bare = {name: (fresh.checkout / name).read_bytes() for name in files}
    pushed = fresh.pq("push", "-a", "--no-check")
    full = {name: (fresh.checkout / name).read_bytes() for name in files}
    popped = fresh.pq("pop", "-a")

    assert bare == files
    assert pushed.code == 0, pushed
    assert full == {"crlf.txt": b"A\r\nb\r\n", "lf.txt": b"A\nb\n", "id.txt": b"$My$\n"}
    assert popped.code == 0, popped
    assert {name: (fresh.checkout / name).read_bytes() for name in files} == files
    assert git(fresh.checkout, "status", "--porcelain", "--untracked-files=no") == ""


def _release_by_a_clean_git(world: World, tag: str, files: dict[str, bytes]) -> None:
    """Blobs as they are, whatever the attributes say."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}

    def plumb(*words: str, stdin: bytes = b"") -> str:
        return (
            subprocess.run(["git", *words], cwd=world.upstream, env=environment, input=stdin, capture_output=True, check=True)
            .stdout.decode()
            .strip()
        )

    lines = [f"100644 blob {plumb('hash-object', '-w', '--stdin', stdin=content)}\t{name}" for name, content in files.items()]
    tree = plumb("mktree", stdin="\n".join(lines).encode())
    plumb("tag", tag, plumb("commit-tree", tree, "-m", tag))


def test_setup_works_from_within_a_git_hook(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """git sets GIT_DIR and GIT_INDEX_FILE inside hooks; they break nested git calls."""
    _init(fresh)
    monkeypatch.setenv("GIT_DIR", str(fresh.upstream / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(fresh.upstream / ".git" / "index"))

    said = subprocess.run([sys.executable, "-m", "pq", "setup"], cwd=fresh.queue, capture_output=True, text=True, check=False)

    monkeypatch.undo()
    assert said.returncode == 0, said
    stands_at(fresh, None)
    assert git(fresh.upstream, "status", "--porcelain") == ""


def test_without_git_setup_says_what_is_missing(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _init(fresh)
    monkeypatch.setenv("PATH", str(fresh.root))

    said = fresh.pq("setup")

    assert said.code == 1
    assert "git is not installed" in said.err
