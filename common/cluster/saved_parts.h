// The state of a run in parts, each with a name and bytes, so that what is saved anew is what has
// changed: who saves is told of parts that are another than before and of those that are gone, and
// what is left in the end makes the state again. Parts of one change belong together: by halves
// they are no state.
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: thread-compatible.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/function_ref.h"
#include "common/base/status.h"
#include "common/cluster/state_reader.h"

namespace weir::cluster {

using PartMap = std::map<std::string, Bytes, std::less<>>;

class SavedParts {
 public:
  virtual ~SavedParts() = default;
  // state: never empty.
  virtual void Put(std::string name, Bytes state) = 0;
  // Of a part that may be there.
  virtual void Remove(std::string name) = 0;
};

// What is left of all that was put.
class KeptParts final : public SavedParts {
 public:
  void Put(std::string name, Bytes state) override {
    parts_.insert_or_assign(std::move(name), std::move(state));
  }
  void Remove(std::string name) override { parts_.erase(name); }

  const PartMap& parts() const { return parts_; }

 private:
  PartMap parts_;
};

// Parts whose names all begin with something that is none of their book's business.
class PartsUnder final : public SavedParts {
 public:
  PartsUnder(std::string beginning, SavedParts* parts)
      : beginning_(std::move(beginning)), parts_(*parts) {}

  void Put(std::string name, Bytes state) override {
    parts_.Put(beginning_ + name, std::move(state));
  }
  void Remove(std::string name) override { parts_.Remove(beginning_ + name); }

 private:
  const std::string beginning_;
  SavedParts& parts_;
};

// What a state is loaded from. Borrows the parts. Every error is InvalidData.
class PartSource {
 public:
  explicit PartSource(const PartMap& parts) : parts_(parts) {}
  // Those of another's parts whose names begin so, by what follows in them.
  PartSource(const std::string& beginning, PartSource* other)
      : parts_(other->parts_), beginning_(other->beginning_ + beginning), taken_(other->taken_) {}
  PartSource(const PartSource&) = delete;
  PartSource& operator=(const PartSource&) = delete;

  Result<ByteSpan> Take(std::string_view name);
  // take() says whether that part is sound, of what follows in its name and its bytes.
  using TakePart = FunctionRef<bool(std::string_view, ByteSpan)>;
  Status TakeEach(const std::string& beginning, TakePart take);
  Status Damaged(std::string_view name) const;

  // From now on what is taken is put there, too; null: nowhere any more.
  void CopyTo(KeptParts* copy) { taken_.copy = copy; }

  // No part is left that nobody has taken.
  Status CheckAllWereTaken() const;

 private:
  void Count(const PartMap::value_type& part);

  const PartMap& parts_;
  const std::string beginning_;
  struct Taken {
    size_t count = 0;
    KeptParts* copy = nullptr;
  } own_;
  Taken& taken_ = own_;
};

}  // namespace weir::cluster
