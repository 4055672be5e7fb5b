// Memory that was not there, told by who knows more of it than operator new: what asked for how
// much, and what to do.
//
// Thread rule: any thread.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace weir {

// Thrown as operator new throws.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// What to say of it: what is known, or otherwise.
inline Status ShortOfMemory(const std::bad_alloc& error, const std::string& otherwise) {
  const auto* const known = dynamic_cast<const OutOfMemory*>(&error);
  return ResourceExhausted(known != nullptr ? known->what() : otherwise);
}

}  // namespace weir
