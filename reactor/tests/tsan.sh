#!/bin/sh
# Runs tests with the native core built for ThreadSanitizer: tsan.sh PYTHON PYTEST_ARGUMENTS... (`make tsan`).
# The threads of packed workers, threaded and async actors meet in the core under Python's lock, which the sanitizer sees.
# Fails with the reports if there are any.
set -eu
given=$(realpath -s "$1"); shift
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/reactor/tests/apart.sh"
apart "$given" tsan "-fsanitize=thread -O1" -DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=thread
mkdir -p "$at/reports"; rm -f "$at"/reports/*
# What glibc frees of a finished thread's own variables is no race. Torch's library is not built for the sanitizer, which does not see how its
# threads for collectives wait for each other. Python's faulthandler shows the stacks of all threads in a signal handler, without a lock.
printf 'race:_dl_deallocate_tls\nrace:c10d::\nrace:_Py_write_noraise\nsignal:faulthandler_user\n' > "$at/suppressions"
failed=0
PYTHONPATH=$at/tree LD_PRELOAD=$(${CXX:-g++} -print-file-name=libtsan.so) \
  TSAN_OPTIONS="halt_on_error=0 die_after_fork=0 report_signal_unsafe=0 exitcode=0 suppressions=$at/suppressions log_path=$at/reports/tsan" \
  setarch "$(uname -m)" -R "$python" -m pytest -p no:cacheprovider "$@" || failed=1
[ -z "$(ls "$at/reports")" ] || { cat "$at"/reports/*; failed=1; }
exit $failed
