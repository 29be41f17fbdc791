# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Settings and functions of all tests of the packages. The tests are started in
# the folder of the source package. This file is sourced, not executed.

set -euo pipefail

# Machines with a GPU also use the software device, so that the tests are the
# same on all machines.
export VKGDR_DRIVER=software

work=${AUTOPKGTEST_TMP:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf -- "$work"' EXIT
fi
# The registry and the compiled kernels are written below the home folder.
export HOME=$work XDG_CACHE_HOME=$work/cache
# Mesa prints a warning if this variable is not set.
export XDG_RUNTIME_DIR=$work/runtime
mkdir -p -m 700 -- "$XDG_RUNTIME_DIR"

# Prints the first block of code in LANGUAGE after a heading of docs/programs.md.
program_block ()
{
  awk -v heading="## $1" -v fence="\`\`\`$2" '
    $0 == heading { in_section = 1; next }
    !in_section { next }
    in_block && $0 == "```" { found = 1; exit }
    in_block { print; next }
    $0 == fence { in_block = 1 }
    END { exit !found }' docs/programs.md
}

# Prints the text $2. Fails if no line of it contains the words $1.
expect ()
{
  local words=$1 text=$2

  printf '%s\n' "$text"
  if ! grep -qF -- "$words" <<<"$text"; then
    printf 'no line has "%s"\n' "$words" >&2
    exit 1
  fi
}
