# Headers that take longer to read than most sources are compiled once: for libraries weir_headers, for
# tests weir_test_headers. A source still includes what it uses: tools/check tidy compiles without them.
set(WEIR_HEADERS <algorithm> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional> <span>
  <string> <thread> <unordered_map> <utility> <vector> <glog/logging.h>
  ${PROJECT_BINARY_DIR}/common/proto/config.pb.h)

function(weir_headers name)
  set(source ${CMAKE_BINARY_DIR}/${name}.cc)
  file(GENERATE OUTPUT ${source} CONTENT "// Nothing but precompiled headers.\n")
  add_library(${name} STATIC ${source})
  target_link_libraries(${name} PRIVATE weir_proto PkgConfig::GLOG)
  target_precompile_headers(${name} PRIVATE ${WEIR_HEADERS} ${ARGN})
endfunction()

# Under CMAKE_UNITY_BUILD (all presets but debug) sources of a folder are compiled together, which
# takes half the time; what Highway includes once for each instruction set is not.
function(weir_skip_highway)
  foreach(source ${ARGN})
    file(STRINGS ${source} includes REGEX "foreach_target\\.h")
    if(includes)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# At -O1 g++ 12 warns of bounds of short strings that nothing passes.
set(WEIR_CONTROL_OPTIONS)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(WEIR_CONTROL_OPTIONS -O1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND WEIR_CONTROL_OPTIONS -Wno-array-bounds -Wno-stringop-overread)
  endif()
endif()

# weir_library(name DEPENDS ...): one static library from all .cc files of the calling folder except
# main.cc; CONTROL: no batch passes through it, so it is optimised less, which takes a third off its
# compilation. weir_test(folder DEPENDS ...): one GoogleTest binary from tests/<folder>/*_test.cc.

function(weir_library name)
  cmake_parse_arguments(ARG "CONTROL" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
    target_precompile_headers(${name} REUSE_FROM weir_headers)
    weir_skip_highway(${sources})
    if(ARG_CONTROL)
      target_compile_options(${name} PRIVATE ${WEIR_CONTROL_OPTIONS})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
endfunction()

# weir_program(name DEPENDS ...): a program from main.cc of the calling folder.
function(weir_program name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} main.cc)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} weir_program gflags)
  target_precompile_headers(${name} REUSE_FROM weir_headers)
  target_compile_options(${name} PRIVATE ${WEIR_CONTROL_OPTIONS})
endfunction()

# weir_fuzz_target(name [SOURCES ...] DEPENDS ...): a program from tests/fuzz/<name>_fuzz.cc and what
# targets share of the same folder, which is a test unless
# libFuzzer drives it. Its name goes into CMakePresets.json, too.
function(weir_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/tests/fuzz)
  list(TRANSFORM ARG_SOURCES PREPEND ${folder}/)
  add_executable(${name}_fuzz ${folder}/${name}_fuzz.cc ${ARG_SOURCES})
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPENDS})
  if(WEIR_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    target_sources(${name}_fuzz PRIVATE ${folder}/initialize.cc)
  else()
    target_sources(${name}_fuzz PRIVATE ${folder}/replay.cc)
    target_compile_definitions(${name}_fuzz PRIVATE WEIR_FUZZ_CORPUS="${folder}/corpus/${name}")
    add_test(NAME fuzz_${name} COMMAND ${name}_fuzz)
    set_tests_properties(fuzz_${name} PROPERTIES LABELS unit)
    set_property(GLOBAL APPEND PROPERTY WEIR_UNIT_TESTS ${name}_fuzz)
  endif()
endfunction()

# Ends what hangs; what has a deadline of its own names what it waited for.
set(WEIR_TEST_TIMEOUT 1500)

# Options: SLOW marks the binary for the label "slow" (left out of sanitizer runs).
function(weir_test folder)
  cmake_parse_arguments(ARG "SLOW" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" name ${folder})
  add_executable(${name}_test ${sources})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name}_test REUSE_FROM weir_test_headers)
  target_compile_options(${name}_test PRIVATE ${WEIR_TEST_OPTIONS})
  target_compile_definitions(${name}_test PRIVATE WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # With less history a report may lack the stack that a suppression names.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${WEIR_TEST_TIMEOUT}
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:halt_on_error=1:history_size=7;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp;GLOG_logtostderr=1")
  if(ARG_SLOW)
    set_tests_properties(${name} PROPERTIES LABELS slow)
  else()
    set_tests_properties(${name} PROPERTIES LABELS unit)
    set_property(GLOBAL APPEND PROPERTY WEIR_UNIT_TESTS ${name}_test)
  endif()
endfunction()
