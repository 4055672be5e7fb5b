// Messages as they come from anybody: the header, whole or not, and what is behind it. The input is
// read twice: as messages whose checksums are made good, and as the bytes of one header.
#include <google/protobuf/stubs/logging.h>

#include "common/base/check.h"
#include "common/session/body.h"
#include "common/session/damage.h"
#include "common/session/header_message.h"
#include "common/session/run_identity.h"
#include "common/session/score_message.h"
#include "common/session/speaker.h"
#include "tests/fuzz/every_header.h"
#include "tests/fuzz/messages.h"

namespace weir::fuzz {
namespace {

void ReadScores(const v1::Header& header, const transport::Message& message) {
  std::vector<ByteSpan> parts;
  for (size_t i = 1; i < message.parts.size(); ++i) parts.push_back(message.parts[i].span());
  const auto all = session::ReadAllScores(header.work_request(), parts);
  if (!all.ok()) return;
  for (const eval::Scores& scores : *all) {
    CHECK_EQ(scores.labels.size(), scores.probabilities.size());
  }
}

void Take(const transport::Message& message) {
  const auto header = session::ParseHeader(message);
  if (!header.ok()) return;
  session::DamageBook damage;
  damage.Add(*header);
  for (const char* name : {"", "server 1", "trainer 0", "trainer 1 stage 2"}) {
    const Status status = session::CheckSpeaker(name, *header);
    CHECK(status.ok() || !status.message().empty());
  }
  const v1::RunIdentity& theirs = header->join().identity();
  session::DescribeMismatch(v1::RunIdentity(), theirs);
  if (!session::CheckFrames(*header, message).ok()) return;
  if (header->has_work_request()) ReadScores(*header, message);
  for (session::BodyReader body(message); !body.done();) {
    if (!body.Next().ok()) {
      CHECK(header->has_probe()) << "frames that are whole";
      return;
    }
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const v1::Header& header : EveryHeader()) {
    const transport::Message message = session::MakeMessage(header);
    seeds.push_back(InputOf({{0, message}}));
    const ByteSpan sealed = message.parts[0].span();
    seeds.emplace_back(sealed.begin(), sealed.end());
  }
  return seeds;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  for (const auto& sent : weir::fuzz::ReadMessages(data, size)) weir::fuzz::Take(sent.message);
  weir::transport::Message message;
  message.parts.emplace_back(weir::Bytes(data, data + size));
  weir::fuzz::Take(message);
  return 0;
}
