# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What the tests of the packages share. They are started in the folder of the
# source package. Sourced, never run.

set -euo pipefail

# A machine with a GPU runs the same tests on the same device.
export VKGDR_DRIVER=software

work=${AUTOPKGTEST_TMP:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf -- "$work"' EXIT
fi
# The registry and the compiled kernels are written below the home folder.
export HOME=$work XDG_CACHE_HOME=$work/cache
# Mesa asks for it, and prints a complaint without it.
export XDG_RUNTIME_DIR=$work/runtime
mkdir -p -m 700 -- "$XDG_RUNTIME_DIR"

# Prints the first block of code in LANGUAGE after a heading of README.md.
readme_block ()
{
  awk -v heading="## $1" -v fence="\`\`\`$2" '
    $0 == heading { in_section = 1; next }
    !in_section { next }
    in_block && $0 == "```" { found = 1; exit }
    in_block { print; next }
    $0 == fence { in_block = 1 }
    END { exit !found }' README.md
}

# Fails with the text that was found, if it does not have a line with the words.
expect ()
{
  local words=$1 text=$2

  printf '%s\n' "$text"
  if ! grep -qF -- "$words" <<<"$text"; then
    printf 'no line has "%s"\n' "$words" >&2
    exit 1
  fi
}
