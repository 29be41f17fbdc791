# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# lib.sh: what .ci/run and .ci/nightly share: each goes through all its steps, and says
# at its end which of them failed and why. It is sourced, not executed.

export CI=true
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." || exit

status=0
failures=() # a line and a file with the output, for each step that failed
not_run=()
n_steps=0
logs=$(mktemp -d)
trap 'rm -rf -- "$logs"' EXIT

# Runs a step. If it fails, the script fails at its end, but not with --only-listed.
# scripts/test-in-root and test-packages end with 3 if this system cannot make or use such
# a root: then nothing was tested, and nothing has failed.
#
# Arguments: [--only-listed] COMMAND [ARGUMENT…]
step ()
{
  local counts=true log result

  [ "$1" != --only-listed ] || { counts=false; shift; }
  n_steps=$((n_steps + 1))
  log=$logs/$n_steps
  "$@" 2>&1 | tee -- "$log"
  result=${PIPESTATUS[0]}
  case $1:$result in
    *:0) return ;;
    scripts/test-in-root:3 | scripts/test-packages:3) not_run+=("$*"); return ;;
  esac
  failures+=("$* (exit status $result)" "$log")
  # shellcheck disable=SC2034 # for the scripts that source this file
  [ "$counts" = false ] || status=1
}

# Prints the steps that could not run, and those that failed. scripts/test says which
# tests failed, and why; of other steps, the last lines say what is wrong.
print_failures ()
{
  local i

  [ ${#not_run[@]} -eq 0 ] || printf '\nNOT RUN: %s' "${not_run[@]}"
  echo
  for ((i = 0; i < ${#failures[@]}; i += 2)); do
    echo
    echo "FAILED: ${failures[i]}"
    sed -n '/^What failed:$/,$p' "${failures[i + 1]}" | grep . \
      || tail -n 20 "${failures[i + 1]}"
  done
}
