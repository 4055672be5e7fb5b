// Work in the background, as an argument: on a thread of its own, or where and when a test says.
//
// Thread rule: any thread, if the executor allows it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace weir {

class Executor {
 public:
  // What was begun. Who drops it does not wait: the work goes on, and owns what it uses.
  class Work {
   public:
    virtual ~Work() = default;

    // Whether it has ended, or does so soon.
    virtual bool EndsWithin(int64_t timeout_ms) = 0;
    // Until it has ended.
    virtual void Wait() = 0;
  };

  virtual ~Executor() = default;

  // The work throws nothing. Where no more threads are to be had it is done here, and others wait.
  virtual std::unique_ptr<Work> Begin(std::function<void()> work) = 0;

  // Whether work goes on by itself. Otherwise who waits for more than one piece of it, as for
  // strands, does them on his thread.
  virtual bool has_threads() const = 0;

  // A thread for each piece of work.
  static Executor& Threads();
};

}  // namespace weir
