#!/bin/sh
# Builds and tries rayshim on a Python that this machine does not have: other_python.sh VERSION [PYTEST ARGUMENT...], as root, such as
#   packaging/other_python.sh 3.14 compat_tests --backends isolated
# The interpreter comes from Debian's sid, which is put into build/sid by debootstrap (1 GB). The tree is copied into it, a wheel is built, and the program
# packaging/program.py runs with it, or pytest with these arguments.
set -eu
cd "$(dirname "$0")/.."
version=$1; shift
root=$PWD/build/sid
python="python$version"
[ -e "$root/etc/debian_version" ] ||
  debootstrap --variant=minbase --include="g++,make,cmake,ninja-build,git,ca-certificates" sid "$root"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -euc "$1" sh "$@"; }
for folder in proc dev; do mountpoint -q "$root/$folder" || mount --rbind "/$folder" "$root/$folder"; done
trap 'umount -R -l "$root/proc" "$root/dev"' EXIT
cp /etc/resolv.conf "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
inside "apt-get install --yes --quiet $python $python-venv $python-dev > /dev/null"
rm -rf "$root/root/tree"; mkdir -p "$root/root/tree"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$root/root/tree"
inside "cd /root && [ -e venv-$version ] || $python -m venv venv-$version
  venv-$version/bin/pip install --quiet scikit-build-core nanobind cloudpickle numpy gymnasium \
    pytest pytest-timeout pytest-xdist pytest-rerunfailures hypothesis rich aiohttp lark joblib
  cd tree && ../venv-$version/bin/pip install --quiet --no-build-isolation --no-deps --editable ."
if [ $# -gt 0 ]; then
  inside 'shift; cd /root/tree && exec ../venv-'"$version"'/bin/python -m pytest "$@"' "$@"
else
  inside "cd /root && venv-$version/bin/python tree/packaging/program.py"
fi
