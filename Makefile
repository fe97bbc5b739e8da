# make demo    the synchronous Q-learning job on real Ray and on rayshim, side by side (ROUNDS=500 for the whole); 6 minutes with the set-up
# make test    unit tests and compat_tests; on real Ray those that it has not yet passed as they are (compat_tests/seen_on_ray.py);
#              what fails is run once more, and listed as RERUN if it then passes
# make test-ray   all compat_tests on real Ray, about half an hour; records what passed
# make tsan    the tests of packed workers, threads, array memory, order, restarts, spilling and generators with the core built for ThreadSanitizer, some 8 minutes
# make asan    the same tests with the core built for AddressSanitizer and UndefinedBehaviorSanitizer, some 9 minutes
# make sanitizers   a short form of both, some 4 minutes; `make test` has a shorter one without Python (reactor/tests/test_native.py)
# make pages   the tests of memory with cores built for memory pages of 16 and 64 KiB, some 10 minutes
# make models  a model checker tries the core's protocols in all executions that C++ allows, also those that x86-64 does not have; needs GenMC, some 30 s
# make lint    ruff: rules and format of the Python code (pyproject.toml); clang-format: format of the C++ code (.clang-format); basedpyright: types,
#              and that it knows those of all public names (packaging/public_types.py)
# make tidy    clang-tidy over the core (.clang-tidy), some 2 minutes
# make wheels  a wheel for each Python found from 3.10 on, checked and tried: packaging/wheels.sh
# make docs    the documentation, into build/site; a warning is an error
# Each makes .venv on first use, and prints the steps of that; the native core is rebuilt when its sources change.
PYTHON ?= python3
VENV := .venv
WORKERS ?= 3  # pytest processes; tests wait a third of their time, so three are faster on two cores
PY := $(VENV)/bin/python
PYTEST = $(PY) -m pytest -n $(WORKERS) --dist worksteal --reruns 1 -rfER
CORE := CMakeLists.txt $(wildcard reactor/native/*.h reactor/native/*.cpp reactor/native/*/*.h reactor/native/*/*.c reactor/native/*/*.cpp)
NATIVE := $(filter-out CMakeLists.txt,$(CORE)) $(wildcard reactor/tests/native/*.h reactor/tests/native/*.cpp reactor/tests/native/models/*.h reactor/tests/native/models/*.c)
PACKAGES := $(wildcard rayshim/*/__init__.py rayshim/*/*/__init__.py reactor/*/__init__.py reactor/*/*/__init__.py)  # the installed package knows the folder of each package

.PHONY: demo lint tidy test test-ray tsan asan sanitizers models pages wheels micro docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/built $(VENV)/ray
	@echo "the job runs on Ray, then on rayshim: about 2 minutes"
	$(PY) -m benchmarks demo

lint: $(VENV)/built $(VENV)/lint  # the checker of types reads the packages that are installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/basedpyright --level error
	$(PY) packaging/public_types.py
	@$(VENV)/bin/clang-format --dry-run -Werror $(NATIVE)

tidy: $(VENV)/built $(VENV)/tidy
	PATH="$(abspath $(VENV))/bin:$$PATH" cmake -G Ninja -S . -B build/tidy -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DREACTOR_TESTING=ON -DSKBUILD_PROJECT_NAME=rayshim -DSKBUILD_PROJECT_VERSION=0 \
		-DPython_EXECUTABLE=$(abspath $(PY)) -Dnanobind_DIR="$$($(PY) -m nanobind --cmake_dir)" > build/tidy.log
	$(PY) $(VENV)/bin/run-clang-tidy.py -clang-tidy-binary $(VENV)/bin/clang-tidy -p build/tidy -j $(WORKERS) -quiet 'reactor/native/.*' 2> build/tidy.log

test: $(VENV)/built $(VENV)/ray
	$(PYTEST) $(PYTEST_ARGS)

test-ray: $(VENV)/built $(VENV)/ray
	$(PYTEST) --backends ray --record-ray $(or $(PYTEST_ARGS),compat_tests)

SANITIZED := rayshim/tests/test_packing.py rayshim/tests/test_packed_random_states.py rayshim/tests/test_array_memory.py rayshim/tests/test_shown_arguments.py rayshim/tests/test_journal_loop.py \
	rayshim/tests/test_order.py rayshim/tests/test_ordering.py compat_tests/test_concurrent_actors.py compat_tests/test_threads.py compat_tests/test_restarts.py \
	compat_tests/test_spilling.py compat_tests/test_generators.py compat_tests/test_kill_cancel.py
SHORT := compat_tests/test_concurrent_actors.py compat_tests/test_arrays.py
SANITIZE = -n $(WORKERS) --timeout 200 --backends isolated,packed

tsan: $(VENV)/built
	reactor/tests/tsan.sh $(PY) $(SANITIZE) $(or $(PYTEST_ARGS),$(SANITIZED))

asan: $(VENV)/built
	reactor/tests/asan.sh $(PY) $(SANITIZE) $(or $(PYTEST_ARGS),$(SANITIZED))

sanitizers: $(VENV)/built
	reactor/tests/tsan.sh $(PY) $(SANITIZE) $(SHORT)
	reactor/tests/asan.sh $(PY) $(SANITIZE) $(SHORT)

models:
	$(PYTHON) reactor/tests/models.py $(MODELS)

pages: $(VENV)/built
	reactor/tests/pages.sh $(PY) -n $(WORKERS) --timeout 200 --backends isolated,inline $(or $(PYTEST_ARGS),rayshim/tests/test_array_memory.py \
		rayshim/tests/test_values_in_place.py rayshim/tests/test_full_heap.py compat_tests/test_arrays.py compat_tests/test_spilling.py)

wheels:
	packaging/wheels.sh

micro: $(VENV)/built $(VENV)/ray
	$(PY) -m benchmarks micro

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict

$(VENV)/docs: $(VENV)/made pyproject.toml
	$(PY) -m pip install --quiet "mkdocs-material>=9.5" "mkdocstrings[python]>=0.26"
	touch $@

# torch first: a range that any release satisfies would bring gigabytes of another build of it.
$(VENV)/made:
	@echo "set-up, step 1 of 3: $(VENV) with torch and the tools for the build, about 2 minutes (a download of 1 GB)"
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet torch==2.13.0
	$(PY) -m pip install --quiet "scikit-build-core>=1.0" "nanobind>=2.4" "numpy>=2.0" ninja
	command -v cmake > /dev/null || $(PY) -m pip install --quiet "cmake>=3.18"
	touch $@

$(VENV)/built: $(VENV)/made pyproject.toml $(CORE) $(PACKAGES)
	@echo "set-up, step 2 of 3: the native core and the packages for tests and benchmarks, about 2 minutes"
	$(PY) -m pip install --quiet --no-build-isolation --config-settings=cmake.define.WARNINGS_AS_ERRORS=ON --editable ".[rl,test]"
	touch $@

$(VENV)/lint: $(VENV)/made pyproject.toml
	$(PY) -m pip install --quiet ruff==0.17.6 clang-format==23.1.5 basedpyright==1.40.2
	touch $@

$(VENV)/tidy: $(VENV)/made
	$(PY) -m pip install --quiet clang-tidy==23.1.4
	touch $@

# Real Ray is the other side of the comparisons. Where it cannot be installed they show rayshim alone.
$(VENV)/ray: $(VENV)/made
	@echo "set-up, step 3 of 3: Ray for the comparison, about 1 minute (without it, rayshim runs alone)"
	-$(PY) -m pip install --quiet "ray[cgraph,rllib,tune,train,data]==2.60.0"
	-$(PY) -m pip install --quiet "ray[serve]==2.60.0"
	touch $@

clean:
	rm -rf $(VENV) build reactor/*.so
