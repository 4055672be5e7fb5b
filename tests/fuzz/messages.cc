#include "tests/fuzz/messages.h"

#include <algorithm>

#include "common/proto/protocol.pb.h"
#include "common/session/header_message.h"
#include "common/wire/frame.h"
#include "tests/common/wire/reseal.h"

namespace weir::fuzz {
namespace {

// A message: a byte with sender and count of frames, then header and frames, each behind its length
// in two bytes. The highest bit of a frame's says that another part begins with it.
constexpr uint16_t kBeginsPart = 0x8000;
constexpr size_t kMostFrames = 63, kSealBytes = 10;

ByteSpan TakeText(ByteReader* reader, uint16_t length) {
  return reader->GetSpan(std::min<size_t>(length, reader->remaining()));
}

transport::Part HeaderPart(ByteSpan bytes) {
  v1::Header header;
  if (!header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return transport::Part(Bytes(bytes.begin(), bytes.end()));
  }
  return session::MakeMessage(header).parts[0];
}

std::vector<ByteSpan> FramesOf(ByteSpan part) {
  std::vector<ByteSpan> frames;
  wire::FrameCursor cursor(part);
  while (!cursor.done()) {
    const auto frame = cursor.Next();
    if (!frame.ok()) return {part};  // of a probe
    frames.push_back(part.first(frame->frame_bytes()));
    part = part.subspan(frame->frame_bytes());
  }
  return frames;
}

void PutText(uint16_t flag, ByteSpan text, ByteWriter* writer) {
  writer->Put(static_cast<uint16_t>(flag | text.size()));
  writer->PutRaw(text.data(), text.size());
}

}  // namespace

std::vector<SentMessage> ReadMessages(const uint8_t* data, size_t size) {
  std::vector<SentMessage> messages;
  ByteReader reader({data, size});
  while (reader.ok() && reader.remaining() > 0) {
    const auto head = reader.Get<uint8_t>();
    SentMessage& sent = messages.emplace_back();
    sent.sender = head % kSenders;
    sent.message.parts.push_back(HeaderPart(TakeText(&reader, reader.Get<uint16_t>())));
    std::vector<Bytes> parts;
    for (size_t left = head / kSenders; left > 0 && reader.remaining() > 0; --left) {
      const auto length = reader.Get<uint16_t>();
      const ByteSpan text = TakeText(&reader, length & ~kBeginsPart);
      Bytes frame(text.begin(), text.end());
      wire::Reseal(&frame);
      if (parts.empty() || (length & kBeginsPart) != 0) parts.emplace_back();
      parts.back().insert(parts.back().end(), frame.begin(), frame.end());
    }
    for (Bytes& part : parts) sent.message.parts.emplace_back(std::move(part));
  }
  return messages;
}

void AppendMessage(const SentMessage& sent, std::string* input) {
  const auto& parts = sent.message.parts;
  Bytes bytes(1);
  ByteWriter writer(bytes);
  PutText(0, parts[0].span().first(parts[0].size() - kSealBytes), &writer);
  size_t count = 0;
  for (size_t i = 1; i < parts.size(); ++i) {
    uint16_t flag = kBeginsPart;
    for (const ByteSpan frame : FramesOf(parts[i].span())) {
      if (++count <= kMostFrames) PutText(std::exchange(flag, 0), frame, &writer);
    }
  }
  bytes[0] = static_cast<uint8_t>(sent.sender + kSenders * std::min(count, kMostFrames));
  input->append(bytes.begin(), bytes.end());
}

std::string InputOf(const std::vector<SentMessage>& messages) {
  std::string input;
  for (const SentMessage& sent : messages) AppendMessage(sent, &input);
  return input;
}

}  // namespace weir::fuzz
