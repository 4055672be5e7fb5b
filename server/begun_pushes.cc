#include "server/begun_pushes.h"

#include <utility>

#include "common/base/strings.h"

namespace weir::server {
namespace {

// A thread has one push begun, of as many parts as layers at most.
constexpr size_t kMostPushes = 1024;
constexpr size_t kMostParts = 4096;

}  // namespace

Status BegunPushes::Add(const v1::PushPart& part, transport::Message message) {
  const auto begun = begun_.find(part.name());
  const size_t count = begun == begun_.end() ? 0 : begun->second.size();
  if (part.number() != count) return OkStatus();
  byte_count_ += transport::WireBytes(message);
  const bool is_one_more = count == 0 && begun_.size() >= kMostPushes;
  if (is_one_more || count >= kMostParts || byte_count_ > most_bytes_) {
    return InvalidData(StrCat("too much of pushes that do not end: ", begun_.size(), " pushes, ",
                              byte_count_, " bytes (cluster.max_message_bytes)"));
  }
  begun_[part.name()].push_back(std::move(message));
  return OkStatus();
}

Result<std::vector<transport::Message>> BegunPushes::Take(const v1::Push& push,
                                                          transport::Message message) {
  std::vector<transport::Message> messages;
  if (auto begun = begun_.extract(push.parts_name())) messages = std::move(begun.mapped());
  for (const transport::Message& part : messages) byte_count_ -= transport::WireBytes(part);
  if (messages.size() != push.part_count()) {
    return FailedPrecondition(StrCat("of push ", push.sequence(), " ", messages.size(), " of ",
                                     push.part_count(), " parts have come"));
  }
  messages.push_back(std::move(message));
  return messages;
}

}  // namespace weir::server
