// What StateWriter wrote. Nothing of it is trusted: a count is no more than bytes are left, a
// number fits its type, keys ascend, and a type says what cannot be (IsSound).
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "common/base/bytes.h"
#include "common/cluster/state_writer.h"

namespace weir::cluster {

class StateReader {
 public:
  explicit StateReader(ByteSpan bytes) : in_(bytes) {}

  // Once done() cannot be any more, values are any.
  template <typename... Values>
  void operator()(Values&... values) {
    (Read(&values), ...);
  }

  // All was read and is sound, and it was all that there is.
  bool done() const { return ok() && in_.remaining() == 0; }

 private:
  bool ok() const { return is_sound_ && in_.ok(); }
  void Demand(bool is_sound) { is_sound_ = is_sound_ && is_sound; }

  template <typename T>
  void Read(T* value) {
    if constexpr (kIsNumber<T>) {
      ReadNumber(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      *value = in_.Get<T>();
    } else if constexpr (std::is_same_v<T, std::string> || kIsMessage<T>) {
      ReadText(value);
    } else if constexpr (requires { value->has_value(); }) {
      bool has_value = false;
      Read(&has_value);
      value->reset();
      if (has_value) Read(&value->emplace());
    } else if constexpr (requires { value->use_count(); }) {
      auto shared = std::make_shared<std::remove_const_t<typename T::element_type>>();
      Read(shared.get());
      *value = std::move(shared);
    } else if constexpr (requires { value->begin(); }) {
      ReadAll(value);
    } else {
      T::Fields(*value, *this);
      if constexpr (requires { value->IsSound(); }) Demand(value->IsSound());
    }
  }

  template <typename T>
  void ReadNumber(T* value) {
    const uint64_t number = in_.GetVarint();
    *value = static_cast<T>(number);
    Demand(static_cast<uint64_t>(*value) == number);
    if constexpr (std::is_same_v<T, int64_t>) Demand(-kLatestMs <= *value && *value <= kLatestMs);
  }

  template <typename T>
  void ReadText(T* value) {
    const ByteSpan bytes = in_.GetSpan(in_.GetVarint());
    const std::string text(bytes.begin(), bytes.end());
    if constexpr (kIsMessage<T>) {
      Demand(value->ParseFromString(text));
    } else {
      *value = text;
    }
  }

  // Each element has at least a byte.
  template <typename Container>
  void ReadAll(Container* values) {
    const uint64_t count = in_.GetVarint();
    values->clear();
    Demand(count <= in_.remaining());
    for (uint64_t i = 0; i < count && ok(); ++i) {
      if constexpr (requires { values->key_comp(); }) {
        ReadKey(values);
      } else {
        Read(&values->emplace_back());
      }
    }
  }

  template <typename Container>
  void ReadKey(Container* values) {
    typename Container::key_type key{};
    Read(&key);
    const auto at = values->lower_bound(key);
    Demand(at == values->end());
    if constexpr (requires { typename Container::mapped_type; }) {
      Read(&values->try_emplace(at, std::move(key))->second);
    } else {
      values->insert(at, std::move(key));
    }
  }

  // Signed numbers are times, of which any two have a difference.
  static constexpr int64_t kLatestMs = int64_t{1} << 60;

  ByteReader in_;
  bool is_sound_ = true;
};

}  // namespace weir::cluster
