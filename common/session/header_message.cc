#include "common/session/header_message.h"

#include <utility>

#include "common/base/check.h"

namespace weir::session {

transport::Message MakeMessage(const v1::Header& header, const Body& body) {
  Bytes bytes(header.ByteSizeLong());
  CHECK(header.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  transport::Message message;
  message.parts.reserve(1 + body.size());
  message.parts.emplace_back(std::move(bytes));
  message.parts.insert(message.parts.end(), body.begin(), body.end());
  return message;
}

std::optional<v1::Header> ParseHeader(const transport::Message& message) {
  if (message.parts.empty()) return std::nullopt;
  const ByteSpan bytes = message.parts[0].span();
  if (bytes.size() > kMaxHeaderBytes) return std::nullopt;
  v1::Header header;
  if (!header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return header;
}

Body BodyOf(const transport::Message& message) {
  return {message.parts.begin() + 1, message.parts.end()};
}

Body ToBody(std::vector<Bytes> parts) {
  Body body;
  for (Bytes& part : parts) {
    if (!part.empty()) body.emplace_back(std::move(part));
  }
  return body;
}

}  // namespace weir::session
