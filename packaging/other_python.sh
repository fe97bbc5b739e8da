#!/bin/sh
# Builds and tries rayshim on a Python that this machine does not have: other_python.sh VERSION [PYTEST ARGUMENT...], as root, such as
#   packaging/other_python.sh 3.14 compat_tests --backends isolated
# The interpreter comes from Debian's sid, which is put into build/sid by debootstrap (1 GB). The tree is copied into it, the core is built there, and
# packaging/small_program.py runs with it, or pytest with these arguments. A second call builds only what has changed.
set -eu
# Mounts are seen here only, and end with the script.
[ -n "${OTHER_PYTHON_APART:-}" ] || OTHER_PYTHON_APART=1 exec unshare --mount --propagation private "$0" "$@"
cd "$(dirname "$0")/.."
version=$1; shift
root=$PWD/build/sid
python="python$version"
[ -e "$root/etc/debian_version" ] ||
  debootstrap --variant=minbase --include="g++,make,cmake,ninja-build,git,ca-certificates" sid "$root"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -euc "$1" sh "$@"; }
for folder in proc dev; do mount --rbind "/$folder" "$root/$folder"; done
cp /etc/resolv.conf "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
inside "DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet $python $python-venv $python-dev > /dev/null"
tree=tree-$version
mkdir -p "$root/root/$tree"
find "$root/root/$tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$root/root/$tree"
quick="--config-settings=cmake.define.CMAKE_UNITY_BUILD=ON --config-settings=cmake.define.CORE_OPTIMIZATION=-O1"  # CMakeLists.txt
inside "cd /root && [ -e venv-$version ] || $python -m venv venv-$version
  venv-$version/bin/pip install --quiet scikit-build-core nanobind cloudpickle numpy gymnasium \
    pytest pytest-timeout pytest-xdist pytest-rerunfailures hypothesis rich aiohttp lark joblib
  cd $tree && /root/venv-$version/bin/pip install --quiet --no-build-isolation --no-deps $quick --editable ."
if [ $# -gt 0 ]; then
  inside 'shift; cd /root/'"$tree"' && exec /root/venv-'"$version"'/bin/python -m pytest "$@"' "$@"
else
  inside "cd /root && venv-$version/bin/python $tree/packaging/small_program.py rayshim"
fi
