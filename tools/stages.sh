# Sourced by the scripts beside it: stage headings that say how long the one before took and how much of the
# processors it used, and what a script says of itself. script: its path, absolute, for it may be called from any folder.
# shellcheck shell=bash

stage_title=""
stage_start=0
stage_cpu_start=0

# set_cpu_seconds NAME: the variable gets what all that the script has run to its end took of the processors. A
# command substitution would be a process of its own, with no count yet.
set_cpu_seconds() {
  local stat ticks
  ticks=$(getconf CLK_TCK)
  read -r -a stat <"/proc/$$/stat"
  printf -v "$1" %d "$(((stat[15] + stat[16]) / ticks))"
}

end_stage() {
  if [[ -n "$stage_title" ]]; then
    local cpu
    set_cpu_seconds cpu
    echo "--- $stage_title: $((SECONDS - stage_start)) s, $((cpu - stage_cpu_start)) CPU-seconds"
  fi
  stage_title=""
}

# stage TITLE: ends the running stage and begins another.
stage() {
  end_stage
  stage_title=$1
  stage_start=$SECONDS
  set_cpu_seconds stage_cpu_start
  echo
  echo "=== $stage_title"
}

fail() {
  echo "error: $*" >&2
  exit 1
}

# The comment that a script begins with.
usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${script:?}"
}

wrong_usage() {
  usage >&2
  echo "error: $*" >&2
  exit 2
}

# take_no_argument "$@": for a script that has --help alone.
take_no_argument() {
  case "${1-}" in
    "") ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) wrong_usage "unknown argument $1" ;;
  esac
}
