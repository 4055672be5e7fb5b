# Third-party packages, all from Debian 12. CONTRIBUTING says why each is here.

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(TBB REQUIRED)
find_package(gflags REQUIRED)
# Its definition is for Windows, and who has it cannot take our precompiled headers.
foreach(target gflags gflags_shared)
  if(TARGET ${target})
    set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS "")
  endif()
endforeach()
find_package(GTest REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GLOG REQUIRED IMPORTED_TARGET libglog)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy)
# Also for AVX-512 with its later instructions (Ice Lake, Zen 4), which Highway leaves out by itself.
target_compile_definitions(PkgConfig::HIGHWAY INTERFACE HWY_WANT_AVX3_DL)
# And on Arm for NEON alone: our loops keep vectors in arrays and structs, which SVE's cannot be in.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_definitions(PkgConfig::HIGHWAY INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# For x86-64 alone. A static library that expects to be given a BLAS for what it does not do itself;
# we ask it for nothing of that kind.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  find_path(LIBXSMM_INCLUDE_DIR libxsmm.h REQUIRED)
  find_library(LIBXSMM_LIBRARY xsmm REQUIRED)
  find_library(LIBXSMM_NO_BLAS_LIBRARY xsmmnoblas REQUIRED)
  add_library(LIBXSMM::libxsmm STATIC IMPORTED)
  set_target_properties(LIBXSMM::libxsmm PROPERTIES
    IMPORTED_LOCATION ${LIBXSMM_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LIBXSMM_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${LIBXSMM_NO_BLAS_LIBRARY};Threads::Threads;${CMAKE_DL_LIBS};m;rt")
endif()

# libzmq's pkg-config entry drags in include paths of libraries that it uses inside.
find_path(ZMQ_INCLUDE_DIR zmq.hpp REQUIRED)
find_library(ZMQ_LIBRARY zmq REQUIRED)
add_library(ZMQ::zmq UNKNOWN IMPORTED)
set_target_properties(ZMQ::zmq PROPERTIES
  IMPORTED_LOCATION ${ZMQ_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZMQ_INCLUDE_DIR})

# Peers of weir-bench, which does without those that are not there (tools/install_dependencies bench).
option(WEIR_BENCH_LIBRARIES "weir-bench measures oneDNN and OpenBLAS too, where they are installed" ON)
if(WEIR_BENCH_LIBRARIES)
  # libdnnl-dev's own CMake package asks for OpenCL headers, which we do not need. OpenMP tells oneDNN
  # its number of threads.
  find_package(OpenMP COMPONENTS CXX)
  find_path(DNNL_INCLUDE_DIR dnnl.hpp)
  find_library(DNNL_LIBRARY dnnl)
  find_path(OPENBLAS_INCLUDE_DIR cblas.h)
  find_library(OPENBLAS_LIBRARY openblas)
endif()
if(WEIR_BENCH_LIBRARIES AND OpenMP_CXX_FOUND AND DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()
if(WEIR_BENCH_LIBRARIES AND OPENBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
  add_library(OpenBLAS::openblas UNKNOWN IMPORTED)
  set_target_properties(OpenBLAS::openblas PROPERTIES
    IMPORTED_LOCATION ${OPENBLAS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_INCLUDE_DIR})
endif()
