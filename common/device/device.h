// Where a trainer computes: a device's memory, and streams of work on it. The CPU is one
// (cpu_device.h), whose memory is the host's and whose streams do everything at once; a card is
// another (gpu/device). The network, the step and the policies are written once against this: the
// stream travels with each call, and who keeps memory says on which device.
//
// Streams are asynchronous by contract: what is enqueued happens in order, later, and host memory
// that a copy names must stay as it is until then. An error of a stream is kept: whatever is
// enqueued behind it does nothing, and Synchronize tells it.
//
// Place in the life of a batch: below model, step and compress.
// Thread rule: a Device is for any thread; a Stream and its Events for one at a time. Blocks and
// streams must not outlive their device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/function_ref.h"
#include "common/base/out_of_memory.h"
#include "common/base/status.h"
#include "common/device/pointer.h"

namespace weir::device {

// A place in a stream, to wait for.
class Event {
 public:
  virtual ~Event() = default;
  // Until whatever was enqueued before the event was last recorded has happened.
  virtual Status Synchronize() = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  template <typename T>
  void CopyToDevice(std::span<const T> from, Span<T> to) {
    DoCopyToDevice(from.data(), to.data.address(), from.size_bytes());
  }
  template <typename T>
  void CopyToHost(Span<const T> from, std::span<T> to) {
    DoCopyToHost(from.data.address(), to.data(), to.size_bytes());
  }
  // Within the device's memory; the two do not overlap.
  template <typename T>
  void CopyOnDevice(Span<const T> from, Span<T> to) {
    DoCopyOnDevice(from.data.address(), to.data.address(), from.size * sizeof(T));
  }
  template <typename T>
  void Zero(Span<T> values) {
    DoZero(values.data.address(), values.size * sizeof(T));
  }

  // Enqueues what `enqueue` does, of which a device may keep what it enqueued and start it as one
  // the next time: under one key it is always the same, with the same memory, and waits for
  // nothing. name: of all of it, for the message of an error; a literal.
  virtual void Repeat(const char* /*name*/, uint64_t /*key*/, FunctionRef<void()> enqueue) {
    enqueue();
  }

  virtual void Record(Event* event) = 0;
  // What is enqueued from here on happens after the event, as it was last recorded; one that never
  // was is not waited for.
  virtual void Wait(const Event& event) = 0;

  // Until all has happened. The first error since the stream was made.
  virtual Status Synchronize() = 0;

  // How long there was nothing to do: from the end of each Synchronize to what was enqueued next,
  // added up. 0 where the host itself computes.
  virtual double idle_seconds() const { return 0; }

 protected:
  virtual void DoCopyToDevice(const void* from, void* to, size_t byte_count) = 0;
  virtual void DoCopyToHost(const void* from, void* to, size_t byte_count) = 0;
  virtual void DoCopyOnDevice(const void* from, void* to, size_t byte_count) = 0;
  virtual void DoZero(void* at, size_t byte_count) = 0;
};

// Memory that its owner gives back by its end.
class Block {
 public:
  explicit Block(void* address) : address_(address) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;
  void* address() const { return address_; }

 private:
  void* const address_;
};

class Device {
 public:
  virtual ~Device() = default;

  // As --device has it: "cpu", "cuda:0".
  virtual std::string name() const = 0;

  // Its memory is the host's: nothing need be copied.
  virtual bool is_host() const = 0;

  // All zero, aligned to 64 bytes. purpose: for the message of OutOfMemory, which is thrown.
  virtual std::unique_ptr<Block> Allocate(size_t byte_count, const std::string& purpose) = 0;
  // Of the host, which the device copies to and from without the processor's help.
  virtual std::unique_ptr<Block> AllocatePinned(size_t byte_count, const std::string& purpose) = 0;

  virtual std::unique_ptr<Stream> MakeStream() = 0;
  virtual std::unique_ptr<Event> MakeEvent() = 0;
};

}  // namespace weir::device
