// What a saved model's manifest.textproto says, and that it is as it was written: its last line is
// the checksum of the others.
//
// Place in the life of a batch: none; at the end of a run, and at the start of others.
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/proto/saved_model.pb.h"

namespace weir::saved_model {

// The file's text. format and checksum are filled in.
std::string ManifestText(v1::SavedModelManifest manifest);

// lines, whole ones, and behind them the one with their checksum.
std::string WithChecksum(const std::string& lines);

// Steps of the stage that has the rows: all, unless it says fewer.
inline uint64_t RowSteps(const v1::SavedModelManifest& manifest) {
  return manifest.has_row_steps() ? manifest.row_steps() : manifest.steps();
}

// NotFound when the file cannot be opened, InvalidData when it is damaged, of another version, or
// says what cannot be.
Result<v1::SavedModelManifest> ReadManifest(const std::string& path);

}  // namespace weir::saved_model
