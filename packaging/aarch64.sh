#!/bin/sh
# Builds the core for aarch64 by a cross compiler, and runs it under qemu: aarch64.sh [PYTEST ARGUMENT...], as root on Debian with
#   apt-get install debootstrap crossbuild-essential-arm64 qemu-user-static
# PYTHON (default: python3): a Python 3.11 with nanobind, numpy and ninja, whose cmake files are used. The arm64 system with Python 3.11 is Debian's bookworm, whose
# packages debootstrap puts into build/aarch64/root (420 MB). Without arguments: packaging/small_program.py in each placement, and the stress tests of the
# core; else pytest with these arguments, such as
#   packaging/aarch64.sh compat_tests/test_actors.py --backends isolated
# The kernel has to run arm64 programs by qemu; this script tells it so if nothing else has (/proc/sys/fs/binfmt_misc/qemu-aarch64).
set -eu
[ -n "${AARCH64_APART:-}" ] || AARCH64_APART=1 exec unshare --mount --propagation private "$0" "$@"  # mounts end with the script
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
at=$PWD/build/aarch64; root=$at/root; mkdir -p "$at"
if [ ! -e "$root/usr/bin/python3.11" ]; then
  debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,python3-dev,python3-venv bookworm "$root" > "$at/debootstrap.log"
  for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done  # nothing needs to be configured
fi
[ -e "$root/packages/numpy" ] || "$python" -m pip install --quiet --target "$root/packages" --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 \
  --only-binary=:all: --python-version 3.11 numpy cloudpickle pytest pytest-timeout pytest-xdist pytest-rerunfailures hypothesis gymnasium
binfmt=/proc/sys/fs/binfmt_misc
[ -e $binfmt/register ] || mount -t binfmt_misc binfmt_misc $binfmt
[ -e $binfmt/qemu-aarch64 ] || tail -n 1 /usr/lib/binfmt.d/qemu-aarch64.conf > $binfmt/register

# Python's header for all machines includes the one of the machine.
mkdir -p "$at/include/aarch64-linux-gnu"; ln -sfn "$root/usr/include/aarch64-linux-gnu/python3.11" "$at/include/aarch64-linux-gnu/python3.11"
cat > "$at/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
END
PATH=$(dirname "$python"):$PATH cmake -G Ninja -S . -B "$at/core" -DCMAKE_TOOLCHAIN_FILE="$at/toolchain.cmake" -DCMAKE_UNITY_BUILD=ON -DREACTOR_TESTING=ON \
  -DWARNINGS_AS_ERRORS=ON -DPython_EXECUTABLE="$python" -DPython_INCLUDE_DIR="$root/usr/include/python3.11" \
  -DPython_NumPy_INCLUDE_DIR="$root/packages/numpy/_core/include" -DCMAKE_CXX_FLAGS="-I$at/include" -DCMAKE_C_FLAGS="-I$at/include" \
  -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DNB_SUFFIX=.cpython-311-aarch64-linux-gnu.so > "$at/cmake.log"
PATH=$(dirname "$python"):$PATH cmake --build "$at/core" > "$at/build.log" || { tail -30 "$at/build.log"; exit 1; }

rm -rf "$root/tree"; mkdir -p "$root/tree"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$root/tree"
cp "$at"/core/_core*.so "$root/tree/reactor/"
for folder in proc dev; do mount --rbind "/$folder" "$root/$folder"; done
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 PYTHONPATH=/tree:/packages sh -euc 'cd /tree && exec "$@"' sh "$@"; }
if [ $# -gt 0 ]; then
  inside python3 -m pytest -p no:cacheprovider "$@"
else
  for placement in isolated packed inline; do inside python3 packaging/small_program.py rayshim --placement $placement; done
  aarch64-linux-gnu-g++ -std=c++20 -O1 -pthread -static -Wno-missing-field-initializers -I reactor/native reactor/tests/native/stress.cpp -o "$root/tree/stress"
  for name in $(grep -o '{"[a-z_]*", stress::' reactor/tests/native/stress.cpp | cut -d'"' -f2); do inside ./stress "$name" 1.2; echo "stress $name: good"; done
fi
