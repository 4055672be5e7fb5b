# How every target is compiled: language level, warnings, sanitizers, where binaries land.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(WEIR_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")
option(WEIR_FUZZ "Fuzz targets are libFuzzer programs (clang); else they play made-up inputs" OFF)

# What was compiled once is not compiled again where ccache is there; it asks for the last two because
# of the precompiled headers.
find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${WEIR_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

# Of C++; kernels have options of their own (gpu/cuda).
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Werror>")
if(CMAKE_UNITY_BUILD)
  # Of a name in another source of the same folder.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
endif()
# Of who touches what a mutex guards without it; g++ does not know (common/base/mutex.h).
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
# By clang's -Wconversion these are warned of as well, by g++'s not.
add_compile_options($<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # -O3 without NDEBUG surprises: CHECK stays, DCHECK and assert go.
  set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
endif()

# What makes a mistake with memory worth less to whoever finds one: programs lie where nobody knows,
# their tables cannot be written, their stack is no code. An overrun of the stack, or of what the
# compiler knows the size of, ends the process; sanitizers see those better.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIE>)
add_link_options($<$<LINK_LANGUAGE:CXX>:-pie> LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
if(NOT WEIR_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fstack-clash-protection>)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  endif()
endif()

if(WEIR_SANITIZE)
  # Without NDEBUG: what is looked for here is also what DCHECK and assert say.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(WEIR_SANITIZE MATCHES "thread")
    # Fences are not modelled by ThreadSanitizer; g++ warns at each one in TBB's headers.
    add_compile_options("$<$<CXX_COMPILER_ID:GNU>:-Wno-error=tsan;-Wno-tsan>")
  endif()
endif()

if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
