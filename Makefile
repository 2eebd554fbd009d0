# make demo: everything from a fresh clone to both patches applied and proven.
# make test: everything that CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test setup lint proof coverage bench pins witnesses clean

demo: setup
	$(BIN)/pq push -a || test $$? -eq 2
	$(BIN)/pq series -v
	$(BIN)/pq status

test: setup witnesses lint
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/complete
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Every series of the queue on its own release, in an environment of its pin (3 GB each).
pins: setup
	$(BIN)/python -m pytest -m pins

# What CI tries a part of, in full: every system call to die at, every queue of the corpus, thousands of inputs. Takes hours.
proof: setup witnesses
	$(BIN)/python -m pytest -n auto --dist worksteal --long tests/proof tests/property tests/compat

# The lines and branches that the tests reach, in pq's processes, too; what killed ones reached is not known.
coverage: setup witnesses
	$(BIN)/coverage run -m pytest -n auto --dist worksteal
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

bench: setup
	$(BIN)/python tests/bench/push.py
	$(BIN)/python -m tests.bench.check
	$(BIN)/python -m tests.bench.rebase
	$(BIN)/python -m tests.bench.commit
	$(BIN)/python -m tests.bench.big 0.3

setup: $(VENV)/complete
	$(BIN)/pq setup --trust

$(VENV)/complete: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pq needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable . --group dev
	$(BIN)/python -m compileall -q pq
	touch $@

# quilt and patch are asked in the tests whether they read what pq reads and writes; exFAT is a file system that holds less than others.
witnesses:
	@command -v quilt >/dev/null && command -v patch >/dev/null && command -v mount.exfat-fuse >/dev/null \
	  || { apt-get update -qq && apt-get install -y -qq quilt patch exfat-fuse exfatprogs; } \
	  || { command -v quilt >/dev/null && command -v patch >/dev/null; } \
	  || { echo "make test needs quilt and patch: install them with your package manager" >&2; exit 1; }

clean:
	rm -rf $(VENV) .checkout
