"""What goes wrong with a clean exit elsewhere, in the shapes that Python files have: refused by name, and the right patch is not.

M and W are the project's real cases, B what was read by hand of real queues: 1 a look-alike block, 2 applied twice, 3 partly
landed, 4 fuzz, 5 dead at boot (a class decorated the old way is left to the import check), 6 reverse-applies, 7 text tools stop,
8 files that are skipped. Names of rows say what repositories do not know, and what is pushed with fuzz.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.conftest import World, git
from tests.laws import nothing_changed

HEAD = "# {}\nfrom __future__ import annotations\nfrom lib import check, deco, go, kind, register, K\n"
FILES = {"pkg/__init__.py": b"", "pkg/new.py": b"mine = 1\n", "pkg/config.py": b"x = 1\n", "pkg/_C.abi3.so": b""}
Edit = tuple[str, str]
Case = tuple[str, str, str, str]
"""The file that a patch was made for, what it made of it, the release's file, and what the right patch makes of that."""


def _in_a_class(text: str) -> str:
    head, _, rest = text.partition("\n\n\n")
    return f"{head}\n\n\nclass Outer:\n    class Inner:\n" + re.sub(r"(?m)^(?=.*\S)", " " * 8, rest)


def _in_a_match(text: str) -> str:
    """The body of every function is that of a case."""
    out: list[str] = []
    inside = nowhere = 99
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip()) if line else nowhere
        inside = inside if depth > inside else nowhere
        out.append(" " * 8 + line if line and inside < nowhere else line)
        if inside == nowhere and line.lstrip().startswith("def "):
            inside = depth
            out += [" " * (depth + 4) + "match kind:", " " * (depth + 8) + "case 1:"]
    return "\n".join(out)


SHAPES: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "nested-class": _in_a_class,
    "decorator-between": lambda text: re.sub(r"(?m)^( *)(?=def |class )", r"\1@deco\n\1", text),
    "async-def": lambda text: text.replace("def ", "async def "),
    "match": _in_a_match,
    "f-string": lambda text: re.sub(r'(?<!f)"(-*)([^"\n]+)"', r'f"\1{K}{{}}\2"', text),
    "tabs": lambda text: text.replace("    ", "\t"),
    "form-feed": lambda text: re.sub(r"(?m)^(?= *def |class )", "\x0c\n", text),
    "syntax-error": lambda text: f"{text}\n\ndef broken(:\n",
    "numbered-error": lambda text: f"{text}\n\ndef broken():\nx = 1\n",
}
CHECK, RETURN = "        check(x)\n", "    return x\n"
BODY = "        x = x + 1\n        x = x * 2\n{mine}        x = x - 3\n        x = x - 4\n"
ADD = '    parser.add_argument(\n        "--{name}",\n        type=int,\n{mine}        default=1,\n        help="n",\n    )\n'
FIRST = "class {name}:\n    def first(self):\n        self.a = 1\n        self.b = 2\n        self.c = 3\n\n"
ALIKE = {
    "option": ("def add_args(parser):\n", ADD, "        choices=[1, 2],\n", "    return parser\n"),
    "class": ("", f"{FIRST}    def forward(self, x):\n{BODY}        return x\n\n\n", "        self.mine = x\n", ""),
    "function": ("", f"def {{name}}(x):\n    with x:\n{BODY}    return x\n\n\n", CHECK, ""),
    "arm": ("def f(a, x):\n    match a:\n", f'      case "{{name}}":\n{BODY}', CHECK, RETURN),
}
"""What stands above look-alikes, each of them, the line that one of them may have, and what stands below."""


def _put(text: str, *edits: Edit) -> str:
    """Each text, which stands there once, by its other."""
    for old, new in edits:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    return text


def _alike(what: str, base: str, mine: str, new: str, right: str) -> Case:
    """Look-alikes in the four files, by their names; those with a star have the line."""
    above, block, line, below = ALIKE[what]

    def text(names: str) -> str:
        blocks = (block.format(name=name.strip("*"), mine=line if "*" in name else "") for name in names.split())
        return f"{above}{''.join(blocks)}{below}"

    return text(base), text(mine), text(new), text(right)


def _case(base: str, mine: Edit, new: Edit, right: Edit, *more: Edit) -> Case:
    """By what the patch, the release (`more`, too), and the right patch for that changed."""
    return base, _put(base, mine), _put(base, new, *more), _put(base, new, *more, right)


def _carried(base: str, mine: Edit, *new: Edit) -> Case:
    """By what the patch and the release changed; to have both is right."""
    return base, _put(base, mine), _put(base, *new), _put(base, mine, *new)


def _own(base: str, line: str, right: str = "") -> Case:
    """A patch for the release's own file, which adds something at its end, or should have added something else."""
    return base, base + line, base, base + (right or line)


A = """class A:
    def first(self, b):
        if b == 1: return 1
        elif b == 2: return 2
        elif b == 4: return 4
        elif b == 5: return 5
        else: return 3
    def second(self, x):
        register("a", x)
        register("b", x)
        register("c", x)
        return check(x)
    def third(self, x):
        match x:
            case 1: return 1
            case 2: return 2
            case 4: return 4
            case 5: return 5
            case _: return 3
@register("p")
class P: pass
"""
USES = "import json\n\n\ndef f(x):\n    check(x)\n    return json.dumps(x)\n\n\ndef g(x):\n    return [x]\n"


def _twice(line: str, mine: str, there: str, *more: Edit) -> Case:
    """The patch has a line (with a 6) above another one, the release has it elsewhere, with a 7: to make a 6 of it is right."""
    return _case(A, (mine, line + mine), (there, line.replace("6", "7") + there), ("7", "6"), *more)


def _fuzzy(mine: str, above: str, below: str = "") -> Case:
    """Of the method that the patch was made for, only the comments are left, in another one."""
    word, rest = "        # the last word\n", "        # is said here\n"
    base = f"class A:\n    def one(self, x):\n        here = check(x)\n{word}{rest}        return here\n"
    new = f"class A:\n    def two(self, x):\n{above}{word}{rest}{below}    z = 1\n"
    return _case(base, (word, word + mine), (base, new), ("x):\n", "x):\n        go(x)\n"))


M1 = _alike("option", "a b c", "a b* c", "a c", "a c*")
M2 = _alike("class", "a b c", "a b* c", "n a b c", "n a b* c")
M3 = "a b c d", "a mine b c d", "a b c d mine", "a other b c d mine"
MOVED = "a b c", "a* b c", "n b c a", "n b c a*"
CALLS = 'def f(x):\n    go("a",\n        b=1,\n        c=2,\n    )\n    go("d",\n        e=1,\n        f=2,\n        g=3)\n'
KEYWORD = "        f=2,\n", "        f=2,\n        mine=5,\n"
ABOVE = _case(CALLS, KEYWORD, ('        c=2,\n    )\n    go("d",\n        e=1,\n', ""), KEYWORD)
SLID = "class A:\n    @go\n    def a(self):\n        return 1\n    @go\n    def b(self):\n        return 2\n"
MINE = "    def mine(self):\n        return 9\n"
BELOW = ("    @go\n    def b", "    @deco\n    @go\n    def b"), ("    @deco", f"    @go\n{MINE}    @deco")
BETWEEN = _case(SLID, ("    def b", f"{MINE}    @go\n    def b"), *BELOW)
METHOD = _twice("    def mine(self): return 6\n", "    def third(", "    def first(")
PARTLY = METHOD[0], _put(METHOD[1], ("check(x)", "check(self.mine())")), *METHOD[2:]
BRANCH = _twice("        elif b == 3: return 6\n", "        else:", "        elif b == 2:")
ARM = _twice("            case 3: return 6\n", "            case _:", "            case 2:")
CALL = '        register("mine", 6)\n', '        register("c", x)\n', '        register("a", x)\n'
OF_CLASS = _twice('@register("mine")\nclass Mine6: pass\n\n\n', '@register("p")\n', "class A:\n")
USED = "[x]", 'f"{{{json.loads(x)}}}"'
GONE = ("import json", "import os"), ("json.dumps", "os.fspath")
DELETED = USES, _put(USES, *GONE), _put(USES, USED), _put(USES, USED, GONE[1], ("import json", "import json\nimport os"))
OLD, NEW = (("    check", f"    from pkg.{name} import mine\n    check") for name in ("old", "new"))
B6 = _alike("class", "a* b", "a* b*", "a*", "n a*")
REFUSED: dict[str, tuple[Case, str, str]] = {
    "M1": (M1, "these lines were changed since", "async-def f-string syntax-error"),
    "M1-unknown": (M1, "its lines stand nowhere", "decorator-between match tabs"),
    "M1-above": (ABOVE, "made for ", "nested-class match tabs f-string"),
    "M2-unknown": (M2, "its lines stand at 4 places", "nested-class form-feed syntax-error"),
    "M3": (_alike("option", *M3), " already, as it did not ", "nested-class async-def match f-string"),
    "M3-unknown": (_alike("option", *M3), "[option-twice]", "decorator-between tabs form-feed f-string"),
    "W2-unknown": (_alike("function", "a b", "a b*", "a", "a*"), "made for ", "async-def decorator-between form-feed"),
    "B1": (_alike("function", *MOVED), "made for ", "decorator-between async-def match syntax-error"),
    "B1-arm": (_alike("arm", *MOVED), "made for ", "plain"),
    "B1-slid": (BETWEEN, "does not apply", "plain async-def"),
    "B2-method": (METHOD, "def mine stands in ", "nested-class decorator-between async-def"),
    "B2-method-unknown": (METHOD, "[defined-twice]", "nested-class decorator-between async-def"),
    "B2-branch": (BRANCH, "elif b == 3 of if b == 1 stands in ", "nested-class tabs match"),
    "B2-branch-unknown": (BRANCH, "[branch-twice]", "async-def form-feed decorator-between"),
    "B2-arm": (ARM, "does not apply", "plain"),
    "B2-arm-unknown": (ARM, "[branch-twice]", "plain"),
    "B2-call": (_twice(*CALL), " already, as it did not ", "async-def form-feed match f-string"),
    "B2-call-of-decorator": (OF_CLASS, "does not apply", "plain"),
    "B3": (PARTLY, "def mine stands in ", "nested-class async-def tabs"),
    "B4-brackets-fuzzy": (
        _fuzzy("        z: int = 3\n", "        go(\n", "        )\n"),
        "[syntax]",
        "nested-class tabs form-feed",
    ),
    "B4-raise-fuzzy": (_fuzzy("        go(x)\n", "        raise KeyError\n"), "[unreachable]", "async-def match tabs"),
    "B4-names-fuzzy": (_fuzzy('        go(f"{{{here!r}}}")\n', "        check(x)\n"), "[undefined-name]", "async-def match tabs"),
    "B5-moved": (_case(USES, OLD, ("[x]", "[x, 1]"), NEW), "[no-module]", "nested-class async-def match"),
    "B5-moved-star": (_own("check(1)\n", "from pkg.old import *\n", "from pkg.new import *\n"), "[no-module]", "plain"),
    "B5-deleted": (DELETED, "[undefined-name]", "nested-class async-def match"),
    "B6": (B6, ".patch does not apply", "async-def form-feed nested-class"),
    "B6-unknown": (B6, ".patch does not apply", "decorator-between form-feed async-def"),
}
OPTION = '        parser.add_argument("--mine")\n'
ARMS = f"def f(parser):\n    match kind:\n      case 1:\n{OPTION}      case 2:\n        check(1)\n"
TWO = "def main(parser):\n    K.add(parser)\n    A.add(parser)\n\n\nclass A:\n    def add(parser):\n        check(parser)\n"
PUT, GOT = (" d=4", " mine=1,\n        d=4"), ("    return go(\n        c", "    y = go(\n        c")
LONG = "def {}(x):\n    x = x + 1\n    x = x * 2\n    x = x - 3\n    x = x / 4\n    return {}\n\n\n"
BOTH = LONG.format("f", "x") + LONG.format("g", '"1"')
HUNKS = BOTH.replace("    x = x * 2\n", "    x = x * 2\n    go(x)\n")
LISTS = "from a import (\n    a1,\n    a2,\n)\nfrom c import (\n    c1,\n    c2,\n)\n"
AWAITS = "async def f(x):\n    await go(\n        a=1,\n        b=2,\n    )\n    await go(\n        c=3,\n        d=4,\n    )\n"
RETURNS = AWAITS.replace("    await", "    if x:\n        await", 1).replace("await", "return")
CAPTURE = 'from pkg import config\n\n\ndef f(x):\n    match x:\n        case {"config": config}:\n            check(x)\n'
SIGNED = "def f(x):\n" + "".join(f"    x = x + {number}\n" for number in range(9))
WRITES, ENDS = "".join(f"    x.write({number})\n" for number in range(5)), '    x.write("\\n")\n'
CARRIED: dict[str, tuple[Case, str, str]] = {
    "M2": (M2, "", "nested-class decorator-between match syntax-error"),
    "M3-arms": (_own(ARMS, OPTION), "", "plain"),
    "M3-two-classes": (_own(TWO, OPTION), "", "plain async-def"),
    "W7": ((BOTH, HUNKS, BOTH + "z = 1\n", HUNKS + "z = 1\n"), "", "tabs form-feed f-string"),
    "B2-newline": (_carried("def f(x):\n" + WRITES, ("(4)\n", "(4)\n" + ENDS), ("(1)\n", "(1)\n" + ENDS)), "", "plain"),
    "B3-same-words": ((BOTH, HUNKS, HUNKS.replace("    go(x)\n", "", 1), HUNKS), "hunk 2 is there already", "async-def"),
    "B4-dead-code": (_own("def f(x):\n    raise KeyError\n    if x:\n        check(x)\n", "        go(x)\n"), "", "async-def"),
    "B5-except": (_own("try:\n    import json\nexcept ImportError:\n    check(1)\n", "    import pkg.old\n"), "", "plain"),
    "B5-capture": (_own(CAPTURE, "            check(config.mine)\n"), "", "plain"),
    "B5-compiled": (_own("check(1)\n", "from pkg._C import go\n"), "", "plain"),
    "B7-lists": (_carried(LISTS, ("from c", "from b import mine\nfrom c"), ("a1", "a0"), ("c2", "c3")), "", "plain"),
    "B7-awaits": (_carried(AWAITS, (")\n    await", ")\n    check(x)\n    await"), ("a=1", "a=2"), ("d=4", "d=5")), "", "plain"),
    "B7-returns": (_carried(RETURNS, PUT, GOT), "", "plain"),
    "B7-signature-unknown": (_carried(SIGNED, ("+ 6", "+ 66"), ("(x)", "(x, y=1)"), ("+ 0", "+ 1")), "", "plain async-def"),
    "B7-own": (_own("check(1)\n", "check(2)\n"), "", "syntax-error numbered-error"),
}
TEXTS = {
    f"{name}-{shape}": [SHAPES[shape](HEAD.format(f"{name}-{shape}") + "\n\n" * (text[0] != "i") + text) for text in case]
    for name, (case, _, shapes) in (REFUSED | CARRIED).items()
    for shape in shapes.split()
}


def _rows(cases: Mapping[str, tuple[Case, str, str]]) -> list[ParameterSet]:
    return [
        pytest.param(f"{name}-{shape}", said, id=f"{name}-{shape}")
        for name, (_, said, shapes) in cases.items()
        for shape in shapes.split()
    ]


@functools.cache
def _built(root: Path) -> World:
    """One world for all rows: each has a file of the release, the patch, and the right one."""
    world = World(root)
    for tag, number in (("v1", 2), ("right", 3), ("mine", 1), ("base", 0)):
        world.release(tag, {**FILES, **{f"{row}.py": texts[number].encode() for row, texts in TEXTS.items()}})
    world.init()
    known = (str(world.upstream / f"{row}.py") for row in TEXTS if not re.search("unknown|fuzzy", row))
    git(world.checkout, "hash-object", "-w", *known)
    for ending, before, after in (("", "base", "mine"), ("-right", "v1", "right")):
        for row in TEXTS:
            diff = git(world.upstream, "diff", "--full-index", before, after, "--", f"{row}.py")
            (world.queue / "patches" / f"{row}{ending}.patch").write_bytes(diff.encode())
    return world


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = _built(tmp_path_factory.getbasetemp() / "variants")
    yield made
    made.pq("pop", "-a")


def test_the_right_patches_go_through(world: World) -> None:
    world.series.write_text("".join(f"{row.id}-right.patch\n" for row in _rows(REFUSED)))

    said = world.pq("push", "-a", "--dry-run")

    assert said.code == 0, said.err


@pytest.mark.parametrize(("row", "said"), _rows(REFUSED))
def test_refused(world: World, row: str, said: str) -> None:
    world.series.write_text(f"{row}.patch\n")

    with nothing_changed(world):
        found = world.pq("push")
        if "fuzzy" in row:
            assert found.code == 1, found
            found = world.pq("push", "--fuzz", "2")
            assert "FUZZ 2)" in found.out, found
        assert (found.code, said in found.err) == (4 if said.startswith("[") else 1, True), found


@pytest.mark.parametrize(("row", "said"), _rows(CARRIED))
def test_carried(world: World, row: str, said: str) -> None:
    world.series.write_text(f"{row}.patch\n")

    found = world.pq("push")

    assert (found.code, said in found.out) == (0, True), found
    assert (world.checkout / f"{row}.py").read_bytes() == TEXTS[row][3].encode()


@pytest.mark.parametrize("row", ["M1-unknown-match", "B2-method-unknown-decorator-between", "B4-raise-fuzzy-async-def"])
def test_w4_one_matcher(world: World, row: str) -> None:
    world.series.write_text(f"{row}.patch\n")

    assert world.pq("verify").code == world.pq("push", "--dry-run").code == world.pq("push").code
    assert world.pq("push", "--dry-run", "--fuzz", "2").code == world.pq("push", "--fuzz", "2").code


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "W7-in-a-hunk": (lambda text: text[:-25], "patches/damaged.patch:"),
    "W7-behind-a-hunk": (lambda text: text[: text.rindex("\n@@ ") + 1], "damaged.patch"),
    "B8-elsewhere": (lambda text: text.replace("W7-", "no/W7-"), "there is no such file"),
}


@pytest.mark.parametrize("row", ["W7-tabs", "W7-form-feed", "W7-f-string"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_patch(world: World, row: str, damage: str) -> None:
    change, said = DAMAGES[damage]
    patches = world.queue / "patches"
    (patches / "damaged.patch").write_bytes(change((patches / f"{row}.patch").read_bytes().decode()).encode())
    world.series.write_text("damaged.patch\n")

    with nothing_changed(world):
        found = world.pq("push")
        assert (found.code, said in found.err) == (1, True), found
