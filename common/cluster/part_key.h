// The name of a part among others of its kind: the numbers that its key is of, "3/0/12".
//
// Place in the life of a batch: none; a server survives by it.
// Thread rule: any thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "common/cluster/state_writer.h"

namespace weir::cluster {

class KeyWriter {
 public:
  template <typename... Numbers>
  void operator()(const Numbers&... numbers) {
    (Write(std::to_string(numbers)), ...);
  }
  const std::string& text() const { return text_; }

 private:
  void Write(const std::string& number) {
    if (!text_.empty()) text_ += '/';
    text_ += number;
  }

  std::string text_;
};

class KeyReader {
 public:
  explicit KeyReader(std::string_view text) : text_(text) {}

  template <typename... Numbers>
  void operator()(Numbers&... numbers) {
    (Read(&numbers), ...);
  }
  bool done() const { return is_sound_ && position_ == text_.size(); }

 private:
  template <typename T>
  void Read(T* number) {
    if (position_ > 0) is_sound_ = is_sound_ && text_.substr(position_++).starts_with('/');
    if (!is_sound_) return;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + position_, end, *number);
    is_sound_ = error == std::errc();
    position_ = static_cast<size_t>(rest - text_.data());
  }

  std::string_view text_;
  size_t position_ = 0;
  bool is_sound_ = true;
};

template <typename Key>
std::string WriteKey(const Key& key) {
  KeyWriter writer;
  if constexpr (kIsNumber<Key>) {
    writer(key);
  } else {
    Key::Fields(key, writer);
  }
  return writer.text();
}

// False unless WriteKey wrote it.
template <typename Key>
bool ReadKey(std::string_view text, Key* key) {
  KeyReader reader(text);
  if constexpr (kIsNumber<Key>) {
    reader(*key);
  } else {
    Key::Fields(*key, reader);
  }
  return reader.done() && WriteKey(*key) == text;
}

}  // namespace weir::cluster
