#include "gpu/device/cuda_stream.h"

#include "common/base/out_of_memory.h"
#include "common/base/strings.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/library_products.h"

namespace weir::gpu {

namespace {

// Where this stream has enqueued nothing since it was waited for.
constexpr char kOthers[] = "the work of another stream";

// Of a kernel that ran: whoever calls next is told, whatever that asks for.
bool IsOfARun(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status CudaStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return OkStatus();
  const std::string message =
      StrCat("CUDA: ", what, IsOfARun(error) ? ", or what was enqueued before it: " : ": ",
             cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation) return ResourceExhausted(message);
  return Internal(message);
}

CudaEvent::CudaEvent() {
  if (cudaEventCreateWithFlags(&event_, cudaEventDisableTiming) != cudaSuccess) event_ = nullptr;
}

CudaEvent::~CudaEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

Status CudaEvent::Synchronize() {
  if (event_ == nullptr) return Internal("CUDA: an event could not be made");
  return CudaStatus(cudaEventSynchronize(event_), "waiting for an event");
}

CudaStream::CudaStream(CudaDevice& device, int number)
    : device_(device), last_(kOthers), products_(std::make_unique<LibraryProducts>(device)) {
  // Of the thread that makes the stream, which is the one that uses it.
  Keep(cudaSetDevice(number), "choosing the device");
  Keep(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  last_ = kOthers;
}

CudaStream::~CudaStream() {
  if (stream_ == nullptr) return;
  cudaStreamSynchronize(stream_);
  graphs_.Clear();
  cudaStreamDestroy(stream_);
}

cudaStream_t CudaStream::handle() {
  if (idle_since_) {
    const std::chrono::duration<double> idle = std::chrono::steady_clock::now() - *idle_since_;
    idle_seconds_ += idle.count();
    idle_since_.reset();
  }
  return stream_;
}

void CudaStream::Keep(cudaError_t error, const char* what) {
  if (error == cudaSuccess) {
    last_ = what;
  } else {
    Keep(CudaStatus(error, what));
  }
}

void CudaStream::Keep(const Status& error) {
  if (status_.ok()) status_ = error;
}

void* CudaStream::Scratch(size_t byte_count) {
  if (has_failed()) return nullptr;
  if (scratch_.size() >= byte_count) return scratch_.data().address();
  // What is enqueued may use the old one, and graphs do. While one is captured nothing is waited
  // for, and so nothing grows.
  if (!Await()) return nullptr;
  graphs_.Clear();
  try {
    scratch_ = device::Buffer<uint8_t>(device_, byte_count + byte_count / 4, "scratch");
  } catch (const OutOfMemory& error) {
    status_ = ResourceExhausted(error.what());
    return nullptr;
  }
  return scratch_.data().address();
}

void CudaStream::Repeat(const char* name, uint64_t key, FunctionRef<void()> enqueue) {
  if (has_failed()) return;
  Keep(graphs_.Run(key, handle(), enqueue, [this] { status_ = OkStatus(); }), name);
}

void CudaStream::Record(device::Event* event) {
  if (has_failed()) return;
  Keep(cudaEventRecord(static_cast<CudaEvent*>(event)->handle(), handle()), "recording an event");
}

void CudaStream::Wait(const device::Event& event) {
  if (has_failed()) return;
  Keep(cudaStreamWaitEvent(handle(), static_cast<const CudaEvent&>(event).handle(), 0),
       "waiting in a stream");
}

bool CudaStream::Await() {
  const cudaError_t error = cudaStreamSynchronize(stream_);
  if (error == cudaSuccess) {
    last_ = kOthers;
  } else {
    Keep(CudaStatus(error, last_));
  }
  return !has_failed();
}

Status CudaStream::Synchronize() {
  if (!has_failed()) Await();
  if (!idle_since_) idle_since_ = std::chrono::steady_clock::now();
  return status_;
}

void CudaStream::DoCopyToDevice(const void* from, void* to, size_t byte_count) {
  if (has_failed() || byte_count == 0) return;
  Keep(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyHostToDevice, handle()),
       "a copy to the card");
}

void CudaStream::DoCopyToHost(const void* from, void* to, size_t byte_count) {
  if (has_failed() || byte_count == 0) return;
  Keep(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyDeviceToHost, handle()),
       "a copy from the card");
}

void CudaStream::DoCopyOnDevice(const void* from, void* to, size_t byte_count) {
  if (has_failed() || byte_count == 0) return;
  Keep(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyDeviceToDevice, handle()),
       "a copy on the card");
}

void CudaStream::DoZero(void* at, size_t byte_count) {
  if (has_failed() || byte_count == 0) return;
  Keep(cudaMemsetAsync(at, 0, byte_count, handle()), "zeroing memory");
}

}  // namespace weir::gpu
