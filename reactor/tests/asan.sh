#!/bin/sh
# Runs tests with the native core built for AddressSanitizer and UndefinedBehaviorSanitizer: asan.sh PYTHON PYTEST_ARGUMENTS... (`make asan`).
# Sees what lies in malloc's memory, on stacks and in the core's own variables; the shared heap is one mapping, of which it knows no parts.
# Leaks are not looked for: Python keeps much until its end, and workers end by _exit.
# Fails with the reports if there are any.
set -eu
given=$(realpath -s "$1"); shift
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/reactor/tests/apart.sh"
# vptr would need the type information of classes that nanobind keeps to itself.
flags="-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer -O1"
apart "$given" asan "$flags" "-DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=address,undefined"
mkdir -p "$at/reports"; rm -f "$at"/reports/*
failed=0
address=$(${CXX:-g++} -print-file-name=libasan.so); undefined=$(${CXX:-g++} -print-file-name=libubsan.so)
# The two libraries have a report file each, and the options name that of the first. So each interpreter tells the other one its own.
echo "import ctypes; ctypes.CDLL('$undefined').__sanitizer_set_report_path(b'$at/reports/undefined')" \
  > "$("$python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")/reports.pth"
# libstdc++ as well: the sanitizer looks for __cxa_throw before the core brings it in.
PYTHONPATH=$at/tree PYTHONMALLOC=malloc LD_PRELOAD=$address:$undefined:$(${CXX:-g++} -print-file-name=libstdc++.so) \
  ASAN_OPTIONS="detect_leaks=0 exitcode=77 handle_segv=0 log_path=$at/reports/address" UBSAN_OPTIONS="print_stacktrace=1" \
  "$python" -m pytest -p no:cacheprovider "$@" || failed=1
[ -z "$(ls "$at/reports")" ] || { cat "$at"/reports/*; failed=1; }
exit $failed
