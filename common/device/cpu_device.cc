#include "common/device/cpu_device.h"

#include <cstring>
#include <utility>

#include "common/base/hogwild.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::device {
namespace {

class CpuEvent final : public Event {
 public:
  Status Synchronize() override { return OkStatus(); }
};

class CpuStreamOfAll final : public Stream {
 public:
  void Record(Event*) override {}
  void Wait(const Event&) override {}
  Status Synchronize() override { return OkStatus(); }

 protected:
  void DoCopyToDevice(const void* from, void* to, size_t byte_count) override {
    if (byte_count > 0) std::memmove(to, from, byte_count);
  }
  void DoCopyToHost(const void* from, void* to, size_t byte_count) override {
    // The replica may be written meanwhile, and is floats.
    if (byte_count % sizeof(float) == 0) {
      hogwild::Copy(static_cast<const float*>(from), static_cast<float*>(to),
                    byte_count / sizeof(float));
    } else {
      std::memmove(to, from, byte_count);
    }
  }
  void DoCopyOnDevice(const void* from, void* to, size_t byte_count) override {
    if (byte_count > 0) std::memcpy(to, from, byte_count);
  }
  void DoZero(void* at, size_t byte_count) override {
    if (byte_count > 0) std::memset(at, 0, byte_count);
  }
};

class CpuBlock final : public Block {
 public:
  explicit CpuBlock(tensor::AlignedArray<uint8_t> memory)
      : Block(memory.data()), memory_(std::move(memory)) {}

 private:
  tensor::AlignedArray<uint8_t> memory_;
};

class Cpu final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_host() const override { return true; }
  std::unique_ptr<Block> Allocate(size_t byte_count, const std::string& /*purpose*/) override {
    return std::make_unique<CpuBlock>(tensor::AlignedArray<uint8_t>(byte_count));
  }
  std::unique_ptr<Block> AllocatePinned(size_t byte_count, const std::string& purpose) override {
    return Allocate(byte_count, purpose);
  }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CpuStreamOfAll>(); }
  std::unique_ptr<Event> MakeEvent() override { return std::make_unique<CpuEvent>(); }
};

}  // namespace

Device& CpuDevice() {
  static Cpu device;
  return device;
}

Stream& CpuStream() {
  static CpuStreamOfAll stream;
  return stream;
}

}  // namespace weir::device
