# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need PyTorch for Python. Defines
#   ensure_torch   installs PyTorch, safetensors and NumPy from PyPI into a cache directory; sets $torch_python, a Python
#                  that has them. The wheel for x86-64 brings libraries for GPUs: 6 GB. No GPU is used.

ensure_torch() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/torch
  local packages=(numpy safetensors torch)
  torch_python=$venv/bin/python
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    echo "${packages[*]}" >"$venv/installed"
}
