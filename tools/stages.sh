# Sourced by the scripts beside it: stage headings that say how long the one before took, and what a script says of
# itself. script: its path, absolute, for it may be called from any folder.
# shellcheck shell=bash

stage_title=""
stage_start=0

end_stage() {
  [[ -z "$stage_title" ]] || echo "--- $stage_title: $((SECONDS - stage_start)) s"
  stage_title=""
}

# stage TITLE: ends the running stage and begins another.
stage() {
  end_stage
  stage_title=$1
  stage_start=$SECONDS
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
