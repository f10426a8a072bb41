# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need TensorFlow. Defines
#   ensure_tensorflow   installs TensorFlow and TensorBoard from PyPI into a cache directory; sets $tensorflow_python, a
#                       Python that has both

ensure_tensorflow() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/interop
  local packages=(tensorflow-cpu tensorboard)
  tensorflow_python=$venv/bin/python
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    echo "${packages[*]}" >"$venv/installed"
}
