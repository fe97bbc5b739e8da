# To be sourced by tsan.sh, asan.sh and pages.sh: apart PYTHON NAME FLAGS builds the native core with FLAGS in a copy of the tree, build/NAME/tree, so
# that the usual build stays. Then it is the current directory, $python an interpreter that imports it, and $at is build/NAME.
apart() {
  python=$1; at=$top/build/$2; flags=$3
  rm -rf "$at/tree"; mkdir -p "$at/tree"
  (cd "$top" && cp -r reactor rayshim compat_tests pyproject.toml "$at/tree/")
  rm -f "$at"/tree/reactor/*.so
  # An interpreter of its own without the editable install, which would find the usual core.
  "$python" -m venv --without-pip "$at/venv"
  packages=$("$python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
  echo "$packages" > "$("$at/venv/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")/shared.pth"
  python=$at/venv/bin/python
  PATH="$packages/../../../bin:$PATH" cmake -G Ninja -S "$top" -B "$at/core" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE="$python" \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DSKBUILD_PROJECT_NAME=rayshim -DSKBUILD_PROJECT_VERSION=0 -DREACTOR_TESTING=ON \
    -DCORE_OPTIMIZATION=-O1 -DCMAKE_UNITY_BUILD=ON -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" ${4:-} > "$at/cmake.log"
  PATH="$packages/../../../bin:$PATH" cmake --build "$at/core" > "$at/build.log"
  cp "$at"/core/_core*.so "$at/tree/reactor/"
  cd "$at/tree"
}
