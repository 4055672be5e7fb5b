// A data folder that a real server has left on a disk of the test's, and what is said of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "common/log/record_reader.h"
#include "common/log/segments.h"
#include "tests/server/logged_server.h"
#include "tools/inspect/inspect_folder.h"

namespace weir::tools {

class InspectedServer : public server::LoggedServer {
 protected:
  // text_: what is printed.
  Status Inspect(const FolderOptions& options = {}) {
    std::ostringstream out;
    Status status = InspectFolder(files_, server::kData, options, out);
    text_ = out.str();
    return status;
  }

  std::vector<log::Segment> Segments() { return log::FindSegments(files_, server::kData).value(); }

  // Where each record of the file begins, and where the last one ends.
  std::vector<uint64_t> Bounds(const std::string& path, uint64_t first_number) {
    auto reader = log::RecordReader::Open(files_, path).value();
    std::vector<uint64_t> bounds{0};
    while (reader.Next(first_number++).value()) bounds.push_back(reader.offset());
    return bounds;
  }

  std::string text_;
};

}  // namespace weir::tools
