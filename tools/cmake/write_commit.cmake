# cmake -DSOURCE_DIR=... -DHEADER=... -P: a header with the commit that is built, written only when
# that has changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain -uno
  OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
elseif(changes)
  string(APPEND commit "+changes")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define WEIR_COMMIT \"${commit}\"\n")
