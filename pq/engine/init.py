"""init: the files that make a folder a queue."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from pq.errors import NothingToDo, PqError
from pq.queue import FILE, Config, open_queue, require_name
from pq.repo.files import write_synced

HOOK = '''\
#!/usr/bin/env python3
"""What a candidate must pass before pq lets it into the checkout; see docs/hooks.md.

Any executable will do here. Standard input: a line a patch, `<patch> TAB <tree before> TAB <tree after>`, objects in $GIT_DIR.
Exit 0 accepts all; otherwise lines `reject TAB <patch> TAB <reason>` on standard output say what is wrong.
"""

import sys

from pq.cli.pre_apply import main

if __name__ == "__main__":
    sys.exit(main())
'''
_ATTRIBUTES = "# Patches and series are bytes: no tool may change their line endings or white space.\n/patches/** -text -whitespace\n/series/* -text -whitespace\n"


def init(folder: Path, *, source: str, pin: str, checkout_path: str | None) -> tuple[str, ...]:
    """Lay out a queue in a folder; the files that were made. Files that exist are left alone."""
    config = Config(source, require_name(pin), prefix="python" if source.startswith("pypi:") else "")
    return _lay_out(folder, replace(config, checkout=checkout_path) if checkout_path else config)


def complete(folder: Path, *, source: str | None, pin: str | None, checkout_path: str | None) -> tuple[str, ...]:
    """Put back what is missing of a queue. Raises PqError where its pq.toml says something else, NothingToDo where it is whole."""
    config = open_queue(folder).config
    for key, given in (("source", source), ("series", pin), ("checkout", checkout_path)):
        if given is not None and given != getattr(config, key):
            raise PqError(
                f"There is a queue at {folder} already, whose {key} is {getattr(config, key)}",
                hint=f"edit [upstream] {key} in {folder / FILE}, then pq setup",
            )
    return _lay_out(folder, config)


def _lay_out(folder: Path, said: Config) -> tuple[str, ...]:
    """Make the files that are not there; pq.toml, which makes it a queue, is last."""
    files = {
        FILE: _toml(said),
        f"series/{said.series}": f"# pq-pin: {said.series}\n",
        "hooks/pre-apply": HOOK,
        ".gitattributes": _ATTRIBUTES,
        ".gitignore": ""
        if os.path.isabs(said.checkout) or ".." in Path(said.checkout).parts
        else f"/{said.checkout.strip('/')}/\n",
    }
    made = [name for name, content in files.items() if content and not (folder / name).exists()]
    lacks_patches = not (folder / "patches").is_dir()
    _let_run(folder / "hooks" / "pre-apply")
    if not made and not lacks_patches:
        raise NothingToDo(
            f"There is a queue at {folder} already", hint="pq setup makes its checkout, pq status says where it stands"
        )
    (folder / "patches").mkdir(parents=True, exist_ok=True)
    for name in reversed(made):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        write_synced(place, files[name].encode("utf-8", "surrogateescape"))
        _let_run(folder / "hooks" / "pre-apply")
    return (*made, *(["patches/"] if lacks_patches else []))


def _toml(config: Config) -> str:
    said = {"source": config.source, "prefix": config.prefix, "checkout": config.checkout, "series": config.series}
    return "[upstream]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items() if value)


def _let_run(hook: Path) -> None:
    """Make the shipped hook executable, also where an interrupted init left it otherwise; not one of the user's."""
    if hook.is_file() and hook.read_bytes() == HOOK.encode():
        hook.chmod(0o755)
