# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# lib.sh: what the scripts share: where the tree is, which programs serve it,
# and how a script speaks to its user. Sourced, never run. Knows nothing of what
# any single script does.

set -euo pipefail

# shellcheck disable=SC2034 # for the scripts that source this file
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# Debian's Python is the one that has GObject introspection; another that comes
# earlier on PATH (pyenv, conda) does not.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

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

# Prints a script's own head comment, from the line that names the script, as
# its --help.
usage ()
{
  sed -n '/^# Usage:/,/^$/s/^# \{0,1\}//p' "$0"
}

# The build folder: $BUILD_DIR, relative to the tree, or `build`, to which a
# suffix is added for a build of another kind.
build_dir ()
{
  local dir=${BUILD_DIR:-build}${1:+-$1}

  case $dir in
    /*) printf '%s\n' "$dir" ;;
    *) printf '%s\n' "$root/$dir" ;;
  esac
}

# Copies the tree into a folder: the files that git tracks or would add, without
# those that it ignores. An archive of the sources has no git; all but builds is
# copied of it. Files keep their times, so that a build there compiles only what has
# changed.
copy_tree ()
{
  mkdir -p -- "$1"
  list_tree | tar -c -C "$root" --null -T - -f - | tar -x -C "$1" -f -
}

# Prints the names of these files, each with a null byte behind it.
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
        # A link may lead to nothing.
        if [ -e "$file" ] || [ -L "$file" ]; then
          printf '%s\0' "$file"
        fi
      done
}
