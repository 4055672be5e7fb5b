// What policies had not sent, in the file of a saved model, behind the checksums of its frames,
// which would stop nearly every damaged input. The input is frames, each behind its length in two
// bytes.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "common/saved_model/policy_states.h"
#include "common/wire/frame.h"
#include "tests/common/wire/reseal.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

constexpr saved_model::StatesOwner kOwner = {.trainer = 3, .stage = 1, .run = 7};

std::string FileName() { return saved_model::StatesFileName(kOwner.trainer, kOwner.stage); }

void ReadInput(ByteSpan input) {
  static const MemoryFolder folder;
  Bytes file;
  ByteReader reader(input);
  while (reader.ok() && reader.remaining() > 0) {
    const size_t length = reader.Get<uint16_t>();
    const ByteSpan text = reader.GetSpan(std::min(length, reader.remaining()));
    Bytes frame(text.begin(), text.end());
    wire::Reseal(&frame);
    file.insert(file.end(), frame.begin(), frame.end());
  }
  folder.Write(FileName(), file);
  size_t bytes = 0;
  const Status status = saved_model::VisitPolicyStates(folder.path(), kOwner.trainer, kOwner.run,
                                                       [&](const auto& header, ByteSpan state) {
                                                         CHECK(!header.name().empty());
                                                         bytes += state.size();
                                                         return OkStatus();
                                                       });
  CHECK(status.ok() || !status.message().empty());
  CHECK_LE(bytes, file.size());
}

std::string Seed(const std::vector<size_t>& sizes) {
  const MemoryFolder folder;
  CHECK(saved_model::WritePolicyStates(folder.path(), kOwner, [&](const auto& take) {
          for (const size_t size : sizes) {
            v1::PolicyStateHeader header;
            header.set_name("bottom/0/weight");
            header.mutable_rule()->mutable_dct()->set_sparsity(0.5);
            WEIR_RETURN_IF_ERROR(take(header, Bytes(size, 3)));
          }
          return OkStatus();
        }).ok());
  std::ifstream file(folder.path() + "/" + FileName(), std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  Bytes input;
  ByteWriter writer(input);
  for (wire::FrameCursor cursor(bytes); !cursor.done();) {
    const wire::FrameView frame = cursor.Next().value();
    writer.Put(static_cast<uint16_t>(frame.frame_bytes()));
    writer.PutRaw(frame.payload.data() - frame.header_bytes, frame.frame_bytes());
  }
  return {input.begin(), input.end()};
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return {Seed({}), Seed({5}), Seed({0, 100, 3})}; }

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;  // it says each time why something does not parse
  weir::fuzz::ReadInput({data, size});
  return 0;
}
