#!/bin/sh
# Runs tests with the native core built for ThreadSanitizer: tsan.sh PYTHON PYTEST_ARGUMENTS... (`make tsan`).
# The threads of packed workers, threaded and async actors meet in the core under Python's lock, which the sanitizer sees.
# In a copy of the tree, so that the usual build stays. Fails with the reports if there are any.
set -eu
python=$(realpath -s "$1"); shift
top=$(cd "$(dirname "$0")/../.." && pwd); at=$top/build/tsan
rm -rf "$at/tree"; mkdir -p "$at/tree" "$at/reports"; rm -f "$at"/reports/*
(cd "$top" && cp -r reactor rayshim compat_tests pyproject.toml "$at/tree/")
rm -f "$at"/tree/reactor/*.so
# An interpreter of its own without the editable install, which would find the usual core.
"$python" -m venv --without-pip "$at/venv"
packages=$("$python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
echo "$packages" > "$("$at/venv/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")/shared.pth"
python=$at/venv/bin/python
flags="-fsanitize=thread -O1"
PATH="$packages/../../../bin:$PATH" cmake -G Ninja -S "$top" -B "$at/core" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE="$python" \
  -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DSKBUILD_PROJECT_NAME=rayshim -DSKBUILD_PROJECT_VERSION=0 \
  -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=thread > "$at/cmake.log"
PATH="$packages/../../../bin:$PATH" cmake --build "$at/core" > "$at/build.log"
cp "$at"/core/_core*.so "$at/tree/reactor/"
cd "$at/tree"
# What glibc frees of a finished thread's own variables is no race.
echo "race:_dl_deallocate_tls" > "$at/suppressions"
failed=0
PYTHONPATH=$at/tree LD_PRELOAD=$(${CXX:-g++} -print-file-name=libtsan.so) \
  TSAN_OPTIONS="halt_on_error=0 die_after_fork=0 report_signal_unsafe=0 exitcode=0 suppressions=$at/suppressions log_path=$at/reports/tsan" \
  setarch "$(uname -m)" -R "$python" -m pytest -p no:cacheprovider "$@" || failed=1
[ -z "$(ls "$at/reports")" ] || { cat "$at"/reports/*; failed=1; }
exit $failed
