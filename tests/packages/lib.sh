# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Functions for the tests of the ways to install. They run the commands of
# README.md as a user types them. Each test runs as root in a minimal Debian, in
# the folder of the source tree, and keeps its results in /mnt/NAME-OF-THE-TEST.
# This file is sourced, not executed.

set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
# Machines with a GPU also use the software device, so that all test the same.
export VKGDR_DRIVER=software

tree=$PWD
# shellcheck disable=SC2034 # for the tests
results=/mnt/${0##*/}

fail ()
{
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# Prints a command and runs it.
step ()
{
  printf '\n=== %s\n' "$*"
  "$@"
}

install_packages ()
{
  apt-get -q -y --no-install-recommends install "$@"
}

# Prints the Nth block of code in LANGUAGE after a heading of README.md, or of another
# FILE. Fails if there is none. With an empty heading, the block is in front of the
# first heading of the second level.
#
# Arguments: HEADING LANGUAGE [N [FILE]]
readme_block ()
{
  awk -v heading="${1:+## $1}" -v fence="\`\`\`$2" -v wanted="${3-1}" '
    BEGIN { in_section = heading == "" }
    /^## / { in_section = $0 == heading }
    !in_section { next }
    in_block && $0 == "```" { in_block = 0; next }
    in_block && n == wanted { print; found = 1 }
    $0 == fence { in_block = 1; n++ }
    END { exit !found }' "$tree/${4-README.md}"
}

# Runs lines of README.md in a shell of their own.
type_in ()
{
  printf '%s\n' "$1" | sed 's/^/$ /'
  bash -e -c "$1"
}

# Runs a command that is in a sentence of README.md, or of another FILE.
#
# Arguments: COMMAND [FILE]
type_inline ()
{
  check_inline "$@"
  type_in "$1"
}

# Fails if a sentence of README.md, or of another FILE, does not have the command.
check_inline ()
{
  tr '\n' ' ' <"$tree/${2-README.md}" | grep -qF -- "\`$1\`" \
    || fail "${2-README.md} does not have the command \"$1\""
}

# Fails if README.md, or another FILE, has more than N blocks of code in LANGUAGE after a
# heading. No test would run the other ones.
#
# Arguments: HEADING LANGUAGE N [FILE]
check_no_more_blocks ()
{
  ! readme_block "$1" "$2" $(($3 + 1)) "${4-README.md}" >/dev/null \
    || fail "${4-README.md} has more than $3 blocks of $2 in \"$1\""
}

# Prints the elements in the table of README.md.
# shellcheck disable=SC2016 # Markdown
readme_elements ()
{
  awk -F '|' '
    /^\| element / { in_table = 1 }
    /^$/ { in_table = 0 }
    in_table { print $2 }' "$tree/README.md" | grep -o '`[a-z]*`' | tr -d '`'
}

# Runs a pipeline until it plays, or has ended. A pipeline that plays is then
# interrupted, as with Ctrl+C.
run_pipeline ()
{
  local lines=$1 log=$work/pipeline.log pid status=0 waited=0

  printf '\n%s\n' "$lines" | sed 's/^/$ /'
  # bash makes a background job ignore SIGINT, and a timeout that ignores it does not send
  # it on. env restores the default action.
  env --default-signal=INT timeout -k 10 180 bash -c "exec $lines" \
    >"$log" 2>&1 </dev/null &
  pid=$!
  until grep -q '^Setting pipeline to PLAYING\|^ERROR' "$log" || [ "$waited" -ge 120 ]; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 1
    waited=$((waited + 1))
  done
  sleep 2
  # timeout sends the signal to the pipeline.
  kill -INT "$pid" 2>/dev/null || true
  wait "$pid" || status=$?
  cat -- "$log"
  grep -q '^Setting pipeline to PLAYING' "$log" || fail "the pipeline did not play"
  ! grep -qE '^ERROR|CRITICAL' "$log" || fail "the pipeline reported an error"
  [ "$status" -eq 0 ] || [ "$status" -eq 130 ] || fail "the exit status is $status"
}

# Runs all pipelines after a heading of a FILE.
#
# Arguments: HEADING FILE AT-LEAST
run_pipelines ()
{
  local n=1 lines

  while lines=$(readme_block "$1" sh "$n" "$2"); do
    run_pipeline "$lines"
    n=$((n + 1))
  done
  [ "$n" -gt "$3" ] || fail "$2 has only $((n - 1)) pipelines"
}

# Whether the installed GStreamer has this version, or a later one.
has_gstreamer ()
{
  gst-inspect-1.0 --exists --atleast-version="$1" identity
}

# Runs the commands of README.md and of its pages for an installed project: pipelines and
# programs.
run_readme ()
{
  local elements

  elements=$(readme_elements)
  [ "$(wc -w <<<"$elements")" -ge 6 ] || fail "README.md has only these elements: $elements"
  work=$(mktemp -d)
  (
    cd -- "$work"
    for element in $elements; do
      # It needs what GStreamer has from 1.28 on.
      if [ "$element" = vkgdrinfer ] && ! has_gstreamer 1.28; then continue; fi
      gst-inspect-1.0 "$element" >/dev/null || fail "there is no $element"
    done
    type_inline "gst-inspect-1.0 vkgdrupload"
    type_inline vkgdr-info
    type_inline "vkgdr-info --json"
    # The files that the pipelines read.
    readme_block Pipelines cuda 1 docs/pipelines.md >negative.cu
    head -c 3000000 /dev/urandom >data.bin
    gst-launch-1.0 -q videotestsrc num-buffers=30 ! theoraenc ! oggmux \
      ! filesink location=clip.mp4
    run_pipelines "Pipelines to copy" README.md 2
    run_pipelines Pipelines docs/pipelines.md 6
    cmp data.bin copy.bin || fail "the bytes of data.bin have changed"
    run_readme_programs
  )
  rm -rf -- "$work"
}

run_readme_programs ()
{
  local page=docs/programs.md

  check_no_more_blocks "From C" c 1 "$page"
  check_no_more_blocks "From C" sh 1 "$page"
  check_no_more_blocks "From Python" python 1 "$page"
  readme_block "From C" c 1 "$page" >example.c
  type_in "$(readme_block "From C" sh 1 "$page")"
  ./example | tee output
  grep -q 'on the device at 0x' output || fail "the C program"
  readme_block "From Python" python 1 "$page" >example.py
  /usr/bin/python3 example.py | tee output
  grep -q '^0x' output || fail "the Python program"
}

# Runs the installed examples as a reader does, without a GPU. vkgdr_pycuda.py needs
# PyCUDA, which no package of this project can depend on, and frames.c a CUDA toolkit.
run_examples ()
{
  local examples socket server example

  examples=$(dpkg -L gst-vkgdr-doc | grep -m 1 '/examples$')
  work=$(mktemp -d)
  socket=$work/frames
  cp -r -- "$examples/." "$work"
  cd -- "$work"
  for example in python/*.py; do
    case $example in
      */vkgdr_pycuda.py) continue ;;
      */detect_boxes.py)
        has_gstreamer 1.24 && gst-inspect-1.0 --exists objectdetectionoverlay || continue
        ;;
      */frames_by_hand.py)
        gst-launch-1.0 -q videotestsrc is-live=true ! vkgdrupload \
          ! vkgdripcsink socket-path="$socket" &
        server=$!
        until [ -S "$socket" ]; do sleep 0.1; done
        # The program reads frames until the server ends.
        timeout 10 /usr/bin/python3 "$example" "$socket" >output || [ $? -eq 124 ]
        kill "$server"
        [ -s output ] || fail "$example prints nothing"
        continue
        ;;
    esac
    step timeout 300 /usr/bin/python3 "$example" --frames 4
  done
  # Without what they need, programs say so in a sentence.
  ! /usr/bin/python3 python/frames_by_hand.py 2>output || fail "frames_by_hand.py needs a socket"
  ! grep -q Traceback output || fail "frames_by_hand.py without an argument"
  step meson setup build c
  step ninja -C build
  for example in tint border; do
    GST_PLUGIN_PATH=build gst-inspect-1.0 "vkgdrexample$example" >/dev/null \
      || fail "vkgdrexample$example"
  done
  cd -- "$tree"
  rm -rf -- "$work"
}
