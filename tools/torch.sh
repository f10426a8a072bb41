# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need PyTorch. Defines
#   ensure_torch   installs PyTorch from PyPI into a cache directory; sets $torch_python, a Python that has it. The wheel
#                  for x86-64 brings libraries for GPUs: 3 GB. No GPU is used.

ensure_torch() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/torch
  local packages=(torch numpy)
  torch_python=$venv/bin/python
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    echo "${packages[*]}" >"$venv/installed"
}
