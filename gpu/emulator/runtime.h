// As much of CUDA's runtime as Weir uses, with CUDA's names. Streams are queues that run as late as
// they may, in any order that events allow; an error of a kernel stays. Included through
// gpu/cuda.h.
//
// Thread rule: any thread. One lock covers it all, and is held while a stream's work runs.
#pragma once

#include "gpu/emulator/exchange.h"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
struct WeirStream;
struct WeirEvent;
struct WeirGraph;
using cudaGraph_t = WeirGraph*;
using cudaGraphExec_t = WeirGraph*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
using cudaStream_t = WeirStream*;
using cudaEvent_t = WeirEvent*;
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int multiProcessorCount;
  int major, minor;  // compute capability
};
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaMalloc(void** at, size_t size);
template <typename T>
cudaError_t cudaMalloc(T** at, size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(at), size);
}
cudaError_t cudaFree(void* at);
cudaError_t cudaMallocHost(void** at, size_t size);
cudaError_t cudaFreeHost(void* at);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags = 0);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);

namespace weir::gpu::emulator {
cudaError_t CheckLaunch(const void* kernel, dim3 grid, dim3 block, size_t shared, cudaStream_t);
cudaError_t SetSharedLimit(const void* kernel, int bytes);
}  // namespace weir::gpu::emulator

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int bytes) {
  return weir::gpu::emulator::SetSharedLimit(reinterpret_cast<const void*>(kernel), bytes);
}

namespace weir::gpu {
template <typename... P, typename... A>
cudaError_t Launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   A... arguments) {
  const cudaError_t error =
      emulator::CheckLaunch(reinterpret_cast<const void*>(kernel), grid, block, shared, stream);
  if (error != cudaSuccess) return error;
  emulator::Enqueue(stream, [=] {
    emulator::Run(grid, block, shared, [=] { kernel(static_cast<P>(arguments)...); });
  });
  return cudaGetLastError();
}
}  // namespace weir::gpu
