# cmake -DSOURCE_DIR=... -DHEADER=... -P: a header with the last commit that changed what programs are
# built of, written only when that has changed: a page or a test makes no other program.
set(sources -- common server worker tools/*.cc tools/*.h tools/cmake CMakeLists.txt CMakePresets.json)
execute_process(COMMAND git -C ${SOURCE_DIR} log -1 --format=%h --abbrev=12 ${sources}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE_DIR} --no-optional-locks status --porcelain -uno ${sources}
  OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
elseif(changes)
  string(APPEND commit "+changes")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define WEIR_COMMIT \"${commit}\"\n")
