# Sourced by the scripts beside it: stage headings that say how long the one before took.
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
