// A part of what is saved (saved_parts.h) that is one value.
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "common/cluster/saved_parts.h"
#include "common/cluster/state_reader.h"
#include "common/cluster/state_writer.h"

namespace weir::cluster {

// Small, and written whole when it is not what it was.
class WholePart {
 public:
  explicit WholePart(std::string_view name) : name_(name) {}

  template <typename T>
  void SaveChanges(const T& value, SavedParts* parts) {
    Bytes bytes = WriteState(value);
    if (bytes == last_) return;
    last_ = bytes;
    parts->Put(name_, std::move(bytes));
  }
  template <typename T>
  Status Load(PartSource* source, T* value) {
    WEIR_ASSIGN_OR_RETURN(const ByteSpan bytes, source->Take(name_));
    StateReader state(bytes);
    state(*value);
    last_.assign(bytes.begin(), bytes.end());
    return state.done() ? OkStatus() : source->Damaged(name_);
  }

 private:
  const std::string name_;
  Bytes last_;
};

}  // namespace weir::cluster
