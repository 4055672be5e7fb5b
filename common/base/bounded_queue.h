// A blocking queue with a mandatory capacity and a Close(): every hand-over between threads.
//
// Thread rule: any thread. After Close() pushes are refused and pops drain what is left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "common/base/check.h"

namespace weir {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { CHECK_GT(capacity, 0u); }

  // Waits for room. False when the queue is closed.
  bool Push(T item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    has_item_.notify_one();
    return true;
  }

  // Does not wait. False when full or closed; the item is then left with the caller.
  bool TryPush(T& item) {
    std::lock_guard lock(mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    has_item_.notify_one();
    return true;
  }

  // Waits for an item. Nothing when the queue is closed and drained.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    has_item_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return TakeLocked();
  }

  // Like Pop, but gives up after timeout_ms.
  std::optional<T> PopFor(int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    has_item_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                       [&] { return closed_ || !items_.empty(); });
    return TakeLocked();
  }

  std::optional<T> TryPop() {
    std::lock_guard lock(mutex_);
    return TakeLocked();
  }

  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    has_item_.notify_all();
    has_room_.notify_all();
  }

  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> TakeLocked() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    has_room_.notify_one();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable has_item_;
  std::condition_variable has_room_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace weir
