#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in a minimal Debian of the given suite, on a copy of this checkout. Root file systems are cached.
# usage: debian.sh bookworm|trixie|sid COMMAND...       (as root, on Debian)
set -euo pipefail
suite=$1
shift
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/debian
mkdir -p "$cache"
[ "$(id -u)" -eq 0 ] || { echo "debian.sh: only root may change its root directory" >&2; exit 69; }

if [ ! -e "$cache/$suite.tar" ]; then  # from the mirror that this system uses
  mirror=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' | head -n 1)
  bare=$(mktemp -d "$cache/bare.XXXXXX")
  debootstrap --variant=minbase "$suite" "$bare" "$mirror" || { tail -n 20 "$bare/debootstrap/debootstrap.log" >&2; exit 1; }
  rm -rf "$bare"/var/cache/apt/archives/*.deb
  tar -C "$bare" -cf "$cache/$suite.part" . && mv "$cache/$suite.part" "$cache/$suite.tar"
  rm -rf "$bare"
fi

root=$(mktemp -d "$cache/root.XXXXXX")
leave() {
  umount -R -l "$root/dev" "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap leave EXIT
tar -C "$root" -xf "$cache/$suite.tar"
chmod 755 "$root"
cp -L /etc/resolv.conf "$root/etc/"
grep -rliE '^ *Acquire::' /etc/apt/apt.conf.d | xargs -r cp -t "$root/etc/apt/apt.conf.d"  # how to reach the mirror
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
mkdir "$root/checkout"
tar -C "$source_root" --exclude=./build --exclude=./.git -c . | tar -C "$root/checkout" -x
chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  bash -c 'cd /checkout && exec "$@"' debian "$@"
