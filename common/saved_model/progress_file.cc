#include "common/saved_model/progress_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/places.h"
#include "common/wire/checksum.h"

namespace weir::saved_model {
namespace {

constexpr std::string_view kMagic = "weir progress 1\n";

uint64_t ChecksumOf(ByteSpan bytes) {
  wire::Checksum checksum;
  checksum.Append(bytes);
  return checksum.value();
}

Result<RunParts> Parse(ByteSpan bytes) {
  ByteReader reader(bytes);
  const ByteSpan magic = reader.GetSpan(kMagic.size());
  if (!std::ranges::equal(magic, kMagic)) return InvalidData("is of another kind or version");
  RunParts parts;
  for (uint64_t left = reader.GetVarint(); left > 0 && reader.ok(); --left) {
    const ByteSpan name = reader.GetSpan(reader.GetVarint());
    const ByteSpan state = reader.GetSpan(reader.GetVarint());
    parts.insert_or_assign(std::string(name.begin(), name.end()),
                           Bytes(state.begin(), state.end()));
  }
  if (!reader.ok() || reader.remaining() > 0) return InvalidData("is damaged");
  return parts;
}

}  // namespace

Result<uint64_t> WriteProgress(const std::string& checkpoint, const RunParts& parts) {
  Bytes bytes(kMagic.begin(), kMagic.end());
  ByteWriter writer(bytes);
  writer.PutVarint(parts.size());
  for (const auto& [name, state] : parts) {
    writer.PutVarint(name.size());
    writer.PutRaw(name.data(), name.size());
    writer.PutVarint(state.size());
    writer.PutRaw(state.data(), state.size());
  }
  WEIR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(FileIn(checkpoint, kProgressFile)));
  WEIR_RETURN_IF_ERROR(file.Append(bytes));
  WEIR_RETURN_IF_ERROR(file.Finish());
  return ChecksumOf(bytes);
}

Result<RunParts> ReadProgress(const std::string& checkpoint, const v1::CheckpointFacts& facts) {
  const std::string path = FileIn(checkpoint, kProgressFile);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  Bytes bytes(error ? 0 : size);
  std::ifstream file;
  if (!error) file.open(path, std::ios::binary);  // of a pipe, which has no size, it would wait
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (error || !file) return InvalidData(StrCat(path, " cannot be read"));
  if (ChecksumOf(bytes) != facts.progress_checksum()) {
    return InvalidData(StrCat(path, " is damaged, or of another checkpoint"));
  }
  auto parts = Parse(bytes);
  if (!parts.ok()) return InvalidData(StrCat(path, " ", parts.status().message()));
  return parts;
}

}  // namespace weir::saved_model
