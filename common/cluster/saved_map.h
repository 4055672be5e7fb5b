// A map of which each entry is a part of what is saved (saved_parts.h). It remembers which entries
// may have changed, from the first time on that it is saved: who never saves pays nothing.
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: thread-compatible.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/cluster/part_key.h"
#include "common/cluster/saved_parts.h"
#include "common/cluster/whole_part.h"

namespace weir::cluster {

// Of a map whose keys alone matter.
struct Listed {
  static void Fields(auto&, auto& state) {
    bool is_listed = true;
    state(is_listed);
  }
};

template <typename Key, typename Value>
class SavedMap {
 public:
  using Map = std::map<Key, Value>;

  explicit SavedMap(std::string_view name) : name_(std::string(name) + "/") {}

  const Map& values() const { return values_; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  auto find(const Key& key) const { return values_.find(key); }
  bool contains(const Key& key) const { return values_.contains(key); }
  const Value& at(const Key& key) const { return values_.at(key); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

  // The entry, made if there is none, for who changes it.
  Value& Change(const Key& key) {
    if (is_saved_) changed_.insert(key);
    return values_[key];
  }
  // For who changes what is not saved of it; null if there is none.
  Value* FindUnsaved(const Key& key) {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  // Whether it was not there.
  bool Add(const Key& key, Value value = {}) {
    const bool is_new = values_.try_emplace(key, std::move(value)).second;
    if (is_new && is_saved_) changed_.insert(key);
    return is_new;
  }
  // Whether it was there.
  bool Erase(const Key& key) {
    if (values_.erase(key) == 0) return false;
    if (is_saved_) changed_.insert(key);
    return true;
  }
  void Clear() {
    if (is_saved_) {
      for (const auto& entry : values_) changed_.insert(entry.first);
    }
    values_.clear();
  }

  void SaveChanges(SavedParts* parts) {
    if (!std::exchange(is_saved_, true)) {
      for (const auto& entry : values_) changed_.insert(entry.first);
    }
    for (const Key& key : changed_) {
      const auto found = values_.find(key);
      if (found == values_.end()) {
        parts->Remove(name_ + WriteKey(key));
      } else {
        parts->Put(name_ + WriteKey(key), WriteState(found->second));
      }
    }
    changed_.clear();
  }
  Status Load(PartSource* source) {
    values_.clear();
    changed_.clear();
    is_saved_ = true;
    return source->TakeEach(
        name_, [this](std::string_view key, ByteSpan bytes) { return LoadEntry(key, bytes); });
  }

 private:
  bool LoadEntry(std::string_view name, ByteSpan bytes) {
    Key key{};
    if (!ReadKey(name, &key)) return false;
    StateReader state(bytes);
    state(values_[key]);
    return state.done();
  }

  const std::string name_;  // of its entries, without their keys
  Map values_;
  bool is_saved_ = false;
  std::set<Key> changed_;  // since it was last saved
};

}  // namespace weir::cluster
