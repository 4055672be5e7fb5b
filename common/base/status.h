// Status and Result<T>: how everything the world can do wrong is reported.
//
// Three kinds of error, never mixed. Our own mistake: CHECK, the process dies. A wrong config: all
// mistakes collected and printed at once (common/config). The world (peers, disk, network, memory):
// a Status that the caller must look at. No exception crosses a folder boundary.
//
// Thread rule: values; thread-compatible.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace weir {

enum class StatusCode {
  kOk,
  kInvalidConfig,       // exit code 2: flags or config files
  kInvalidData,         // input rows, received bytes or stored bytes do not parse
  kNotFound,            // a file or a peer that is not there
  kUnavailable,         // a peer that went away, a queue that was closed
  kDeadlineExceeded,    // names whom we waited for, at which address
  kFailedPrecondition,  // refused by a peer, lost state, wrong time
  kResourceExhausted,   // a bound was reached
  kTooLate,             // exit code 3: all is done already, and well
  kInterrupted,         // exit code 130
  kInternal,
};

const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "INVALID_DATA: message", for logs. What a user sees is message() alone.
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
// What failed first, with the messages of both, a line each; or what failed.
Status Joined(const Status& first, const Status& second);
Status InvalidConfig(std::string message);
Status InvalidData(std::string message);
Status NotFound(std::string message);
Status Unavailable(std::string message);
Status DeadlineExceeded(std::string message);
Status FailedPrecondition(std::string message);
Status ResourceExhausted(std::string message);
Status TooLate(std::string message);
Status Interrupted(std::string message);
Status Internal(std::string message);

std::ostream& operator<<(std::ostream& out, const Status& status);

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : value_(std::move(value)) {}  // NOLINT: implicit by intent, as in `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    CHECK(!status_.ok()) << "a Result without a value needs a reason";
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    CHECK(ok()) << status_;
    return *value_;
  }
  const T& value() const& {
    CHECK(ok()) << status_;
    return *value_;
  }
  T&& value() && {
    CHECK(ok()) << status_;
    return *std::move(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace weir

#define WEIR_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                    \
    if (::weir::Status weir_status = (expression); !weir_status.ok()) return weir_status; \
  } while (false)

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// WEIR_ASSIGN_OR_RETURN(auto piece, LoadPiece(id));
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none.
#define WEIR_ASSIGN_OR_RETURN(declaration, expression) \
  WEIR_ASSIGN_OR_RETURN_INNER(WEIR_CONCAT(weir_result_, __LINE__), declaration, expression)
#define WEIR_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                        \
  if (!result.ok()) return result.status();                          \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
