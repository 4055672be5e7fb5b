// What a state machine remembers as bytes. A type names its fields once, for this way and the one
// back (state_reader.h):
//
//   static void Fields(auto& self, auto& state) { state(self.epoch_, self.members_); }
//
// Numbers, enums, strings, messages, optionals, shared values and containers of them need no more.
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: thread-compatible.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "common/base/bytes.h"

namespace weir::cluster {

template <typename T>
inline constexpr bool kIsNumber = std::is_integral_v<T> || std::is_enum_v<T>;
template <typename T>
inline constexpr bool kIsMessage = std::is_base_of_v<google::protobuf::MessageLite, T>;

class StateWriter {
 public:
  explicit StateWriter(Bytes* out) : out_(*out) {}

  template <typename... Values>
  void operator()(const Values&... values) {
    (Write(values), ...);
  }

 private:
  template <typename T>
  void Write(const T& value) {
    if constexpr (kIsNumber<T>) {
      out_.PutVarint(static_cast<uint64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      out_.Put(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.PutVarint(value.size());
      out_.PutRaw(value.data(), value.size());
    } else if constexpr (kIsMessage<T>) {
      Write(value.SerializeAsString());
    } else if constexpr (requires { value.has_value(); }) {
      Write(value.has_value());
      if (value.has_value()) Write(*value);
    } else if constexpr (requires { value.use_count(); }) {
      Write(*value);
    } else if constexpr (requires { value.begin(); }) {
      WriteAll(value);
    } else {
      T::Fields(value, *this);
    }
  }

  template <typename Container>
  void WriteAll(const Container& values) {
    out_.PutVarint(values.size());
    for (const auto& value : values) {
      if constexpr (requires { typename Container::mapped_type; }) {
        (*this)(value.first, value.second);
      } else {
        Write(value);
      }
    }
  }

  ByteWriter out_;
};

template <typename T>
Bytes WriteState(const T& value) {
  Bytes bytes;
  StateWriter state(&bytes);
  state(value);
  return bytes;
}

}  // namespace weir::cluster
