// The files that the parameters of a saved model are in: one, or one of each server that saved.
//
// Place in the life of a batch: none; at the end of a run, and at the start of others.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/file_writer.h"
#include "common/base/status.h"
#include "common/proto/saved_model.pb.h"
#include "common/wire/checksum.h"

namespace weir::saved_model {

inline constexpr const char* kParametersFile = "parameters.weir";

// "parameters-1-of-4.weir": of server 1 of 4.
std::string PartName(uint32_t index, uint32_t count);

// Whether it is the name of such a file, or of the only one.
bool IsParametersName(std::string_view name);

struct ParametersFile {
  std::string name;  // in the model's folder
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};
// Those that the manifest tells of, in their order.
std::vector<ParametersFile> ParametersFiles(const v1::SavedModelManifest& manifest);

// Writes one of them.
class PartWriter {
 public:
  static Result<std::unique_ptr<PartWriter>> Create(const std::string& path);

  // Whole frames.
  Status Append(ByteSpan frames) {
    checksum_.Append(frames);
    return file_.Append(frames);
  }
  // Once, as the last: it is on disk.
  Result<v1::SavedPart> Finish();

 private:
  explicit PartWriter(FileWriter file) : file_(std::move(file)) {}

  FileWriter file_;
  wire::Checksum checksum_;
};

}  // namespace weir::saved_model
