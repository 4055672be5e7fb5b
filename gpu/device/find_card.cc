#include "gpu/device/find_card.h"

#include <string>

#include "common/base/strings.h"
#include "gpu/device/cuda_stream.h"

namespace weir::gpu {
namespace {

// 1000 major + 10 minor, as CUDA has it.
std::string Version(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

// Why there is no card to be had.
Status NoCard(cudaError_t error) {
  int driver = 0, runtime = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      cudaRuntimeGetVersion(&runtime) == cudaSuccess) {
    return FailedPrecondition(driver == 0 ? std::string("there is no NVIDIA driver on this machine")
                                          : StrCat("the NVIDIA driver is too old: it knows CUDA ",
                                                   Version(driver), ", and this build needs ",
                                                   Version(runtime), "; install a newer driver"));
  }
  return FailedPrecondition(StrCat("there is no card: ", cudaGetErrorString(error),
                                   "; look at nvidia-smi and at CUDA_VISIBLE_DEVICES"));
}

// Kernels use what came with A100s, and are compiled for nothing older.
constexpr int kLeastMajor = 8;

Status CheckCapability(int number, const cudaDeviceProp& card) {
  if (card.major >= kLeastMajor) return OkStatus();
  return FailedPrecondition(StrCat("cuda:", number, " is too old: ", card.name,
                                   " has compute capability ", card.major, ".", card.minor,
                                   ", and kernels need ", kLeastMajor, ".0, an A100's"));
}

}  // namespace

Result<cudaDeviceProp> FindCard(int number) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess || count == 0) {
    return NoCard(counted == cudaSuccess ? cudaErrorNoDevice : counted);
  }
  if (number >= count) {
    return FailedPrecondition(StrCat("there is no cuda:", number, ": this machine has ", count,
                                     count == 1 ? " card, cuda:0" : " cards, cuda:0 to cuda:",
                                     count == 1 ? "" : StrCat(count - 1)));
  }
  cudaDeviceProp properties;
  WEIR_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, number), "asking what the card is"));
  WEIR_RETURN_IF_ERROR(CheckCapability(number, properties));
  return properties;
}

}  // namespace weir::gpu
