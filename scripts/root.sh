# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# root.sh: functions that make roots of other Debian releases with debootstrap,
# and run programs in them with chroot. A root is a folder with a complete
# Debian system. This file is sourced after lib.sh. It has no code for a single
# script.

# The exit status if this system cannot make or use a root: nothing was tested.
CANNOT=3

cannot ()
{
  say "${0##*/}: $*"
  exit "$CANNOT"
}

# Exits with $CANNOT if this process is not permitted to run programs in a root,
# or if a program for this is missing.
require_roots ()
{
  local program

  [ "$(id -u)" -eq 0 ] || cannot "this needs root: sudo $0"
  for program in unshare chroot mount git; do
    command -v "$program" >/dev/null || cannot "$program is missing"
  done
  unshare --mount chroot / true 2>/dev/null \
    || cannot "this system does not permit to mount, or to change the root"
}

# Makes a root of the Debian release $2 in the folder $1. Until the root is
# complete, the folder is named $1.part. arm64 is a root of bookworm, to which
# test-in-root adds packages.
make_root ()
{
  local folder=$1 release=${2/#arm64/bookworm} script=

  command -v debootstrap >/dev/null \
    || cannot "debootstrap is missing: apt-get install debootstrap"
  say "Making a root of Debian $release in $folder"
  mkdir -p -- "${folder%/*}"
  rm -rf -- "$folder.part"
  # debootstrap has no script for a release that is newer than itself.
  [ -e "/usr/share/debootstrap/scripts/$release" ] || script=sid
  debootstrap --variant=minbase "$release" "$folder.part" \
    "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
    ${script:+"/usr/share/debootstrap/scripts/$script"} >&2 \
    || cannot "debootstrap failed: see above"
  mv -- "$folder.part" "$folder"
}

# Prints the folder of a root. If NAME contains a slash, it is that folder,
# which must exist. Otherwise NAME is a release of Debian. The root of a release
# is in $XDG_CACHE_HOME/gst-vkgdr/NAMESUFFIX, and is made if it is missing.
#
# Arguments: NAME [SUFFIX]
find_root ()
{
  local name=$1 suffix=${2-} folder

  case $name in
    */*) folder=$(cd -- "$name" && pwd) || die "there is no folder $name" ;;
    *)
      folder=${XDG_CACHE_HOME:-$HOME/.cache}/gst-vkgdr/$name$suffix
      [ -d "$folder" ] || make_root "$folder" "$name"
      ;;
  esac
  [ -x "$folder/bin/bash" ] || die "$folder is no root of a system"
  printf '%s\n' "$folder"
}

# Copies this system's settings of the network and of apt, such as a proxy, to
# the root $1.
copy_settings ()
{
  local file

  mkdir -p -- "$1/etc/apt/apt.conf.d"
  for file in /etc/resolv.conf /etc/hosts; do
    [ ! -f "$file" ] || cp -L -- "$file" "$1$file"
  done
  for file in /etc/apt/apt.conf.d/*; do
    # Files of packages are not copied: a package in the root has its own files.
    if grep -qs '^Acquire' "$file" && ! dpkg -S "$file" >/dev/null 2>&1; then
      cp -- "$file" "$1/etc/apt/apt.conf.d/"
    fi
  done
}

# The source of a shell function. The function mounts /proc and /dev in a root,
# and then executes a program there with a minimal environment. It must run in a
# mount namespace of its own: run_in_root () and run_in_copy () make one.
# shellcheck disable=SC2016 # for the shell inside
readonly ENTER_ROOT='
enter_root ()
{
  local there=$1
  shift
  mount -t proc proc "$there/proc" && mount --rbind /dev "$there/dev" || exit 3
  exec env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$there" "$@"
}
'

# Runs a program in a root, as the user root. The mounts end with the last
# process of their mount namespace.
#
# Arguments: ROOT PROGRAM [ARGUMENT…]
run_in_root ()
{
  unshare --mount bash -c "$ENTER_ROOT"'enter_root "$@"' unshare "$@"
}

# Runs a program in a copy of a root. The copy is made in the folder SCRATCH, so
# the root itself does not change. The folder SHARED is mounted at /mnt of the
# copy. The packages that apt downloads are kept in SHARED/archives.
#
# Arguments: ROOT SCRATCH SHARED PROGRAM [ARGUMENT…]
run_in_copy ()
{
  mkdir -p -- "$2/upper" "$2/work" "$2/root" "$3/archives/partial"
  # An overlay needs no time for copying, but not all file systems support it.
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount bash -c "$ENTER_ROOT"'
    original=$1 scratch=$2 shared=$3
    shift 3
    mount -t overlay overlay "$scratch/root" 2>/dev/null \
      -o "lowerdir=$original,upperdir=$scratch/upper,workdir=$scratch/work" \
      || cp -a -- "$original/." "$scratch/root" || exit 3
    mount --bind "$shared" "$scratch/root/mnt" \
      && mount --bind "$shared/archives" "$scratch/root/var/cache/apt/archives" \
      || exit 3
    enter_root "$scratch/root" "$@"
  ' unshare "$@"
}
