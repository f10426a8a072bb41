#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: docs/site.sh    installs missing packages, builds the documentation as a site in build/site, and checks its links
#
# Exit codes: 1 a page cannot be made or the check found a fault, 64 wrong usage, 69 the packages cannot be installed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
[ $# -eq 0 ] || { sed -n '3,5s/^# //p' "docs/site.sh" >&2; exit 64; }
logs=build/logs
. tools/setup.sh
pages=build/site-pages site=build/site

# --strict: a warning of MkDocs fails the build. grep removes MkDocs' list of the pages that are not in the navigation: the
# pages of headers and of code are left out of it on purpose. The note about '\s' comes from a template of the theme; it is
# harmless.
make_site() {
  rm -rf $site
  /usr/bin/mkdocs build --strict --config-file $pages/mkdocs.yml --site-dir "$PWD/$site" 2>&1 |
    grep -v '^  - '
}

ensure_packages site
phase "write the pages" docs/site/write_pages.py $pages &&
  phase "make the site" make_site &&
  phase "check links and anchors" docs/site/check_site.py $site $pages/names.json || exit 1
tail -n 1 $logs/check_links_and_anchors.log
echo "$site is complete. To read it, run: python3 -m http.server --bind 127.0.0.1 --directory $site 8000"
echo "and open http://127.0.0.1:8000. (A browser can also open the files themselves, but then there is no search.)"
