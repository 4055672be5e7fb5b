// Work runs when a test says so, on its thread, one piece at a time. A seed chooses which of those
// that wait is next; without one it is the first.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/executor.h"
#include "common/base/random.h"

namespace weir::test {

class ManualExecutor final : public Executor {
 public:
  ManualExecutor() = default;
  explicit ManualExecutor(uint64_t seed) : random_(std::in_place, seed) {}

  std::unique_ptr<Work> Begin(std::function<void()> work) override {
    waiting_.push_back(std::make_shared<Piece>(Piece{std::move(work)}));
    return std::make_unique<Handle>(this, waiting_.back());
  }
  bool has_threads() const override { return false; }

  size_t waiting() const { return waiting_.size(); }
  // One of those that wait; false where none does.
  bool RunOne() {
    if (waiting_.empty()) return false;
    Run(waiting_[random_ ? random_->NextBelow(waiting_.size()) : 0]);
    return true;
  }

 private:
  struct Piece {
    std::function<void()> work;
    bool has_ended = false;
  };

  class Handle final : public Work {
   public:
    Handle(ManualExecutor* executor, std::shared_ptr<Piece> piece)
        : executor_(executor), piece_(std::move(piece)) {}
    // It does not go on by itself, so nobody waits.
    bool EndsWithin(int64_t /*timeout_ms*/) override { return piece_->has_ended; }
    // Who cannot do without it does it.
    void Wait() override { executor_->Run(piece_); }

   private:
    ManualExecutor* const executor_;
    const std::shared_ptr<Piece> piece_;
  };

  void Run(const std::shared_ptr<Piece>& chosen) {
    std::shared_ptr<Piece> piece;  // a copy, for what it runs may begin others
    piece = chosen;
    if (std::erase(waiting_, piece) == 0) return;
    piece->work();
    piece->work = nullptr;
    piece->has_ended = true;
  }

  std::vector<std::shared_ptr<Piece>> waiting_;
  std::optional<RandomStream> random_;
};

}  // namespace weir::test
