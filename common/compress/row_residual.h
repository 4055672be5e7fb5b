// What a worker keeps of the gradients of a table's rows: what is not worth sending yet, and what
// rounding took from what was sent.
//
// A row's gradients add up until the row is worth sending (its norm reaches a threshold, or passes
// the variance's test of Tsuzuku et al. 2018, section 4, taken of a whole row: the lemma of section
// 4.1 in norms, before it is split by element), or until it has waited so many steps. Where there
// is no room for another row, one gives way of which nothing but rounding is kept, or the new one
// is sent at once. So gradients sent plus what is kept are the sum of gradients, but for rounding
// that there was no room for, which is counted.
//
// Place in the life of a batch: backward -> **row residual += gradient -> select** -> encode ->
// push. Thread rule: any thread; a lock for the whole table, which a step holds once.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/wire/value_coding.h"

namespace weir::compress {

// When a row is worth sending; at least one of the first two, or nothing is before its time.
struct RowTest {
  std::optional<float> threshold;  // of the norm; 0: always
  std::optional<float> alpha;
  float decay = 1;
  uint64_t max_age = 0;  // steps
  size_t max_rows = 0;
};

// Of a table's rule. `none` sends every row in its step, and keeps what rounding takes.
RowTest MakeRowTest(const v1::PolicyRule& rule);

// Counters, cumulative but for the last.
struct RowCounts {
  uint64_t gradients = 0;
  uint64_t sent = 0;
  uint64_t sent_for_age = 0;
  uint64_t kept_steps = 0;  // of those sent
  double discarded_l1 = 0;
  uint64_t waiting = 0;  // now

  RowCounts& operator+=(const RowCounts& other);
};

// A step's gradients of one table's rows, or what is sent of them. ids: ascending.
struct RowGradients {
  std::span<const uint64_t> ids;
  std::span<const float> values;   // [ids, dimension]
  std::span<const float> squares;  // [ids]: sums over samples of the squared norms of their shares
};

struct SentRows {
  std::vector<uint64_t> ids;
  std::vector<float> values;  // [ids, dimension], as the receiver will decode them
};

class RowResidual {
 public:
  RowResidual(const RowTest& test, size_t dimension, wire::ValueCoding values);

  bool needs_squares() const { return test_.alpha.has_value(); }

  // Takes a step's gradients in; sent, which is cleared first, gets the rows that leave: of this
  // step's those that are worth it, and the oldest of those that are old, several times as many as
  // the step has gradients of, and some more.
  void Take(const RowGradients& gradients, SentRows* sent);
  // A step without a push.
  void Accumulate(const RowGradients& gradients);

  // What later steps depend on, counters apart. No other thread may be here meanwhile.
  void Save(ByteWriter* out) const;
  // What Save wrote, of rows of the same dimension and under whatever test, into a table that is
  // new. Where the test has no age for them, rows that wait leave with their next gradient.
  // InvalidData if it cannot be that; the table is of no use then.
  Status Load(ByteReader* in);

  // Whether nothing is kept of any row.
  bool empty() const;
  RowCounts counts() const;
  // For tests: what is kept of a row, zeros if nothing is.
  std::vector<float> KeptOf(uint64_t id) const;

 private:
  struct Slot {
    uint64_t id = 0;
    uint64_t since = kNotWaiting;  // the step of the first gradient that waits
    bool is_free = false;
    float square_sum = 0;
  };
  // Stale where the slot has another `since`: the row was sent meanwhile. No slot has the same
  // twice.
  struct Waiting {
    uint64_t since;
    size_t slot;
  };
  static constexpr uint64_t kNotWaiting = ~uint64_t{0};
  static constexpr size_t kNoSlot = ~size_t{0};

  void CheckSizes(const RowGradients& gradients) const;
  size_t SlotOf(uint64_t id) WEIR_REQUIRES(mutex_);
  size_t NewSlot(uint64_t id) WEIR_REQUIRES(mutex_);
  bool GiveWay() WEIR_REQUIRES(mutex_);
  void Discard(size_t slot) WEIR_REQUIRES(mutex_);
  std::span<float> Kept(size_t slot) WEIR_REQUIRES(mutex_) {
    return std::span(kept_).subspan(slot * dimension_, dimension_);
  }
  void Add(const RowGradients& gradients, size_t i, size_t slot) WEIR_REQUIRES(mutex_);
  bool IsWorthSending(size_t slot) WEIR_REQUIRES(mutex_);
  void Wait(size_t slot) WEIR_REQUIRES(mutex_);
  void Send(size_t slot, SentRows* sent) WEIR_REQUIRES(mutex_);
  void SendWithoutSlot(std::span<const float> gradient, uint64_t id, SentRows* sent)
      WEIR_REQUIRES(mutex_);
  bool IsWaiting(const Waiting& entry) const WEIR_REQUIRES(mutex_) {
    return slots_[entry.slot].since == entry.since;
  }
  // At most so many.
  void SendOld(size_t most, SentRows* sent) WEIR_REQUIRES(mutex_);
  void ForgetStale() WEIR_REQUIRES(mutex_);
  void Free(size_t slot) WEIR_REQUIRES(mutex_);
  bool LoadSlots(ByteReader* in) WEIR_REQUIRES(mutex_);
  bool LoadOrders(size_t free_count, size_t waiting_count, ByteReader* in) WEIR_REQUIRES(mutex_);

  const RowTest test_;
  const size_t dimension_;
  const wire::ValueCoding coding_;

  mutable Mutex mutex_;
  uint64_t step_ WEIR_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, size_t> slot_of_ WEIR_GUARDED_BY(mutex_);
  std::vector<Slot> slots_ WEIR_GUARDED_BY(mutex_);
  std::vector<float> kept_ WEIR_GUARDED_BY(mutex_);  // [slots, dimension]
  std::vector<size_t> free_ WEIR_GUARDED_BY(mutex_);
  size_t hand_ WEIR_GUARDED_BY(mutex_) = 0;  // the slot that is asked next whether it may give way
  std::deque<Waiting> waiting_ WEIR_GUARDED_BY(mutex_);  // in order of since
  RowCounts counts_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::compress
