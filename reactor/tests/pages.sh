#!/bin/sh
# Runs tests with native cores that take the system's memory pages for larger ones: pages.sh PYTHON PYTEST_ARGUMENTS... (`make pages`).
# 16 KiB and 64 KiB are those of some aarch64 systems. What is aligned for them is aligned for 4 KiB, too.
set -eu
given=$(realpath -s "$1"); shift
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/reactor/tests/apart.sh"
failed=0
for bytes in 16384 65536; do
  apart "$given" "pages-$bytes" "-DREACTOR_MEMORY_PAGE=$bytes -O1"
  [ "$(PYTHONPATH=$at/tree "$python" -c 'from reactor import _core; print(_core.memory_page())')" = $bytes ]
  PYTHONPATH=$at/tree "$python" -m pytest -p no:cacheprovider "$@" || failed=1
done
exit $failed
