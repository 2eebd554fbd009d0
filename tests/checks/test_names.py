"""names: what a patch newly uses and nobody defines, in its file and in the modules of the candidate tree. Nothing is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from pq.checks import names
from pq.checks.sources import Source

TREE = {
    "pkg/__init__.py": b"",
    "pkg/a.py": b"import os\nX: int = 1\ndef f(): pass\nclass C: pass\nif X:\n    Y = 2\ntry:\n    import torch as t\nexcept ImportError:\n    t = None\n",
    "pkg/lazy.py": b"def __getattr__(name): return 1\n",
    "pkg/star.py": b"from pkg.a import *\n",
    "pkg/broken.py": b"def f(:\n",
    "pkg/set.py": b"def start():\n    global later\n    later = 1\n",
    "pkg/sub/__init__.py": b"from .inner import g\n",
    "pkg/sub/inner.py": b"g = 1\n",
    "pkg/namespace/m.py": b"h = 1\n",
    "pkg/made/__init__.py": b"thing = object()\n",
    "pkg/made/thing.py": b"",
    "pkg/itself.py": b"import sys\nsys.modules[__name__] = object()\n",
    "pkg/_C.abi3.so": b"",
}


class Modules:
    """Files by path."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.contents = files

    def id(self, path: str) -> str | None:
        if path.endswith("/"):
            return path if any(each.startswith(path) for each in self.contents) else None
        return self.contents[path].decode() if path in self.contents else None

    def read(self, path: str) -> bytes | None:
        return self.contents.get(path)

    def files(self) -> Iterable[str]:
        return self.contents


def _found(after: str, before: str = "", *, package: str = "pkg", then: Mapping[str, bytes] = TREE) -> list[str]:
    return [
        f"{each.line}: {each.reason}"
        for each in names.findings(
            Source("pkg/m.py", [before.encode()], after.encode()), Modules(TREE), Modules(then), package=package
        )
    ]


MISSING = {
    "from pkg.a import g": "1: module pkg.a has no g",
    "from pkg.b import g": "1: the tree has no module pkg.b",
    "import pkg.b": "1: the tree has no module pkg.b",
    "from pkg import b": "1: module pkg has no b",
    "from .a import g": "1: module pkg.a has no g",
    "from . import b": "1: module pkg has no b",
    "from .sub.inner import h": "1: module pkg.sub.inner has no h",
    "import pkg.a as a\na.g()": "2: module pkg.a has no g",
    "from pkg import a\nprint(a.X, a.Z)": "2: module pkg.a has no Z",
    "from pkg.a import (\n    X,\n    g,\n)": "3: module pkg.a has no g",
    "from pkg.b import *": "1: the tree has no module pkg.b",
    "async def f(x):\n    match x:\n        case 1:\n            from pkg.a import g": "4: module pkg.a has no g",
    "class A:\n    class B:\n        from pkg.a import g": "3: module pkg.a has no g",
}
THERE = [
    "from pkg.a import X, f, C, Y, t, os",
    "from pkg.a import *",
    "from pkg.lazy import anything",
    "from pkg.star import anything",
    "from pkg.broken import anything",
    "from pkg.set import later, start",
    "from pkg import a, sub, namespace",
    "from pkg.sub import inner, g",
    "from pkg.namespace import m",
    "from torch.nn import Nothing",
    "import numpy.nothing",
    "try:\n    from pkg.b import g\nexcept ImportError:\n    g = None",
    "from pkg.a import C\nC.anything",
    "from pkg import a\na = 1\na.nothing",
    "from pkg import a\ndef f(a):\n    return a.nothing",
    "import pkg.a as a\na.__name__",
    "import pkg.a as a\na.new = 1",
    "try:\n    import torch\nexcept ImportError:\n    from pkg import b",
    "from pkg import a\nif hasattr(a, 'x'):\n    a.x()",
    "import typing\nif typing.TYPE_CHECKING:\n    from pkg import b",
    "from contextlib import suppress\nwith suppress(ImportError):\n    from pkg import b",
    "from pkg import a\nmatch dir():\n    case {'a': a}:\n        a.nothing",
    "try:\n    from pkg import a\nexcept OSError as a:\n    a.nothing",
    "if dir():\n    from pkg import a\nelse:\n    from pkg import sub as a\na.nothing",
    "from pkg.made import thing\nthing.anything",
    "from pkg.itself import anything",
    "from pkg import _C\nfrom pkg._C import anything",
]


@pytest.mark.parametrize("source", MISSING)
def test_what_the_tree_does_not_have(source: str) -> None:
    assert _found(f"{source}\n") == [MISSING[source]]
    assert _found(f"{source}\n", f"{source}\n") == []


@pytest.mark.parametrize("source", THERE)
def test_what_the_tree_has_or_nobody_can_tell(source: str) -> None:
    assert _found(f"{source}\n") == []


def test_a_file_of_the_root_has_no_package_above() -> None:
    assert _found("from . import nothing\n", package="") == []


def test_names_that_nobody_defines() -> None:
    before = "import os\n\n\ndef f():\n    return os.sep, old\n"
    after = "def f():\n    return os.sep, old, f'''{new!r:>{len(width)}}'''\n"

    assert sorted(_found(after, before)) == [
        "2: name new is not defined",
        "2: name os is not defined",
        "2: name width is not defined",
    ]
    assert _found(before, before) == []


def test_a_name_that_is_added_to_a_list_of_imports() -> None:
    """The line on which the statement begins did not change."""
    before = "from pkg.a import (\n    X,\n)\n"

    assert _found(before.replace(")", "    nothing,\n)"), before) == ["3: module pkg.a has no nothing"]


def test_names_in_annotations_whose_evaluation_is_put_off() -> None:
    before = "from __future__ import annotations\nimport os\n\n\ndef f(a: os.PathLike) -> int: pass\n"

    assert _found(before.replace("-> int", "-> Missing").replace("os.PathLike", "os.Path"), before) == [
        "5: name Missing is not defined"
    ]
    assert _found(before.replace("-> int", "-> str"), before) == []


@pytest.mark.parametrize("begin", [b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe9\n"])
def test_a_file_says_how_it_is_encoded(begin: bytes) -> None:
    source = Source("pkg/m.py", [begin + b"x = 1\n"], begin + b"x = nothing\n")

    (found,) = names.findings(source, Modules(TREE), Modules(TREE), package="pkg")

    assert found.reason == "name nothing is not defined"


def test_what_does_not_parse_is_another_check_s() -> None:
    assert _found("def f(:\n") == _found("nothing\n", "def f(:\n") == []


def test_an_import_that_was_right_before_the_patch() -> None:
    """The patch took the name out of the other file."""
    then = {**TREE, "pkg/a.py": b"g = 1\n"}

    assert _found("from pkg.a import g\nx = 1\n", "from pkg.a import g\n", then=then) == ["1: module pkg.a has no g"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("from pkg.sub.inner import f", "f is in pkg.a, pkg.broken"),
        ("from pkg.a import h", "h is in pkg.namespace.m"),
        ("from pkg.inner import g", "inner is in pkg.sub.inner"),
        ("import pkg.m", "m is in pkg.namespace.m"),
        ("from pkg.a import nowhere", ""),
        ("nowhere", ""),
    ],
)
def test_where_it_went_is_said(source: str, wanted: str) -> None:
    (found,) = names.findings(Source("pkg/z.py", [b""], source.encode()), Modules(TREE), Modules(TREE), package="pkg")

    assert found.suggestion == wanted
    assert found.lines()[-1].strip() == (wanted or "^")


def test_an_expression_that_nests_deeper_than_python_recurses() -> None:
    deep = "x = " + " + ".join(["y"] * 1500) + "\n"

    assert _found(deep + "from pkg.a import g\n") == ["2: module pkg.a has no g"]
