# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# root.sh: roots of other Debian systems, in folders that debootstrap makes, and
# programs that run in them. Sourced, after lib.sh. Knows nothing of what is run.

# The exit status by which a caller knows that nothing was tested.
CANNOT=3

cannot ()
{
  say "${0##*/}: $*"
  exit "$CANNOT"
}

# Ends the script if this process may not make a root or change to one.
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

# Makes the root of a release in a folder. The folder gets its name when the root
# is complete.
make_root ()
{
  local folder=$1 release=$2

  command -v debootstrap >/dev/null \
    || cannot "debootstrap is missing: apt-get install debootstrap"
  say "Making a root of Debian $release in $folder"
  mkdir -p -- "${folder%/*}"
  rm -rf -- "$folder.part"
  debootstrap --variant=minbase "$release" "$folder.part" \
    ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2 \
    || cannot "debootstrap failed: is there a network?"
  mv -- "$folder.part" "$folder"
}

# Prints the folder of a root, which is made if it is missing. NAME is a folder (it
# has a slash in it) or a release of Debian; the root of a release is in
# $XDG_CACHE_HOME/gst-vkgdr, under the release's name and SUFFIX.
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

# Copies to a root the settings of the network and of apt that this system has,
# such as a proxy.
copy_settings ()
{
  local file

  mkdir -p -- "$1/etc/apt/apt.conf.d"
  for file in /etc/resolv.conf /etc/hosts; do
    [ ! -f "$file" ] || cp -L -- "$file" "$1$file"
  done
  for file in /etc/apt/apt.conf.d/*; do
    # A package that is installed there brings its own settings.
    if grep -qs '^Acquire' "$file" && ! dpkg -S "$file" >/dev/null 2>&1; then
      cp -- "$file" "$1/etc/apt/apt.conf.d/"
    fi
  done
}

# Mounts /proc and /dev in a root and starts a program there, with a bare
# environment. For a process with mounts of its own, see below.
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

# Runs a program in a root, as root. The mounts are gone with the last process of
# their namespace.
run_in_root ()
{
  unshare --mount bash -c "$ENTER_ROOT"'enter_root "$@"' unshare "$@"
}

# Runs a program in a copy of a root, which is made in the folder SCRATCH and does
# not change the root. The program sees the folder SHARED as /mnt, and the packages
# that apt downloads are kept in SHARED/archives.
#
# Arguments: ROOT SCRATCH SHARED PROGRAM [ARGUMENT…]
run_in_copy ()
{
  mkdir -p -- "$2/upper" "$2/work" "$2/root" "$3/archives/partial"
  # An overlay takes no time; it is not possible on every file system.
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
