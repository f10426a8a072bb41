# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need PyTorch and safetensors for Python. Defines
#   ensure_torch_files   installs both from PyPI into a cache directory (PyTorch takes 6 GB there); sets
#                        $torch_files_python, a Python that has both

ensure_torch_files() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/torch_files
  local packages=(numpy safetensors torch)
  torch_files_python=$venv/bin/python
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    echo "${packages[*]}" >"$venv/installed"
}
