# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# lib.sh: variables and functions that all scripts use: the folder of the source
# tree, the Python interpreter, messages, --help, the build folder, and copies
# of the tree. It is sourced, not executed. It has no code for a single script.

set -euo pipefail

# shellcheck disable=SC2034 # for the scripts that source this file
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# Only Debian's Python has Debian's module for GObject introspection. A Python
# that comes earlier on PATH (pyenv, conda) does not have it.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# A container or a timer may start programs without HOME. The shell knows the user's.
[ -n "${HOME-}" ] || { unset HOME; HOME=~; export HOME; }

# Lists of what the scripts have changed on this system.
# shellcheck disable=SC2034 # for the scripts that source this file
state=${XDG_STATE_HOME:-$HOME/.local/state}/gst-vkgdr

# Progress and errors go to standard error: standard output is for results.
say ()
{
  printf '%s\n' "$*" >&2
}

die ()
{
  say "${0##*/}: $*"
  exit 1
}

# Prints the comment at the top of the running script, from the line "# Usage:"
# to the next empty line. Each script prints it for --help.
usage ()
{
  sed -n '/^# Usage:/,/^$/s/^# \{0,1\}//p' "$0"
}

# Prints the build folder: $BUILD_DIR (relative to the source tree), or `build`
# if it is not set. With the argument KIND, -KIND is appended to the name.
build_dir ()
{
  local dir=${BUILD_DIR:-build}${1:+-$1}

  case $dir in
    /*) printf '%s\n' "$dir" ;;
    *) printf '%s\n' "$root/$dir" ;;
  esac
}

# Prints the name of clang-format 14, which scripts/format needs. Fails if it is
# not installed.
find_clang_format ()
{
  local name

  for name in clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
      printf '%s\n' "$name"
      return
    fi
  done
  return 1
}

# Copies the source tree into the folder $1, without the files that git ignores.
# If the tree is not a git repository (but an archive of the sources), it copies
# all files except for build folders. Files keep their modification times, so
# that a build in the copy compiles only changed files.
copy_tree ()
{
  mkdir -p -- "$1"
  list_tree | tar -c -C "$root" --null -T - -f - | tar -x -C "$1" -f -
}

# Prints the names of the files for copy_tree (), each followed by a null byte.
list_tree ()
{
  local file

  cd -- "$root"
  if [ ! -e .git ]; then
    find . -path './build*' -type d -prune -o ! -type d -print0
    return
  fi
  command -v git >/dev/null || die "git is missing: scripts/deps package"
  # The tree may belong to another user, as it does in a container.
  git -c safe.directory="$root" ls-files -z -co --exclude-standard \
    | while IFS= read -r -d '' file; do
        # -e fails for a symbolic link whose target does not exist.
        if [ -e "$file" ] || [ -L "$file" ]; then
          printf '%s\0' "$file"
        fi
      done
}
