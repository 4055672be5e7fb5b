// A small data folder, of a log and snapshots that a test has written, and what is said of it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/log/record_reader.h"
#include "common/log/writer.h"
#include "common/wire/state_frame.h"
#include "server/log/snapshot_file.h"
#include "tests/support/memory_files.h"
#include "tools/inspect/inspect_folder.h"

namespace weir::tools {

inline constexpr char kFolder[] = "/data";

// Three files of a log, with a snapshot where each of the first two ends; each record was promised
// before the next one was written.
class WrittenFolder : public testing::Test {
 protected:
  WrittenFolder() {
    CHECK(files_.MakeFolder(kFolder).ok());
    log::LogWriter writer({.files = files_, .folder = kFolder}, 1, Start());
    writer.Step();
    for (int file = 0; file < 3; ++file) {
      if (file > 0) Cut(&writer);
      for (uint64_t i = 1; i <= 3; ++i) {
        Append(&writer, i);
        writer.Step();
      }
    }
  }

  static v1::LogStart Start() {
    v1::LogStart start;
    start.set_run(17);
    start.add_epochs(5);
    return start;
  }
  static Bytes Frames() {
    Bytes frames;
    wire::AppendPolicyState(&frames, 0, Bytes(6, 1));
    return frames;
  }
  static void Append(log::LogWriter* writer, uint64_t sequence) {
    v1::LogRecord record;
    v1::LoggedPush& push = *record.mutable_step()->add_pushes();
    push.mutable_push()->set_sequence(sequence);
    Bytes frames = Frames();
    push.set_body_bytes(frames.size());
    writer->Append(std::move(record), {transport::Part(std::move(frames))});
  }
  void Cut(log::LogWriter* writer) {
    const uint64_t last_number = writer->written();
    writer->Cut(Start());
    writer->Step();
    auto snapshot = server::SnapshotWriter::Create(files_, kFolder, last_number, Start()).value();
    CHECK(snapshot->Append(Frames()).ok());
    server::CutSummary summary;
    summary.versions.push_back(last_number);
    CHECK(snapshot->Finish(summary).ok());
  }

  // text_: what is printed.
  Status Inspect() {
    std::ostringstream out;
    const Status status = InspectFolder(files_, kFolder, {}, out);
    text_ = out.str();
    return status;
  }
  std::vector<log::Segment> Segments() { return log::FindSegments(files_, kFolder).value(); }
  std::vector<log::Snapshot> Snapshots() { return log::FindSnapshots(files_, kFolder).value(); }

  // Where each record of the file begins, and where the last one ends.
  std::vector<uint64_t> Bounds(const std::string& path, uint64_t first_number) {
    auto reader = log::RecordReader::Open(files_, path).value();
    std::vector<uint64_t> bounds{0};
    while (reader.Next(first_number++).value()) bounds.push_back(reader.offset());
    return bounds;
  }

  test::MemoryFiles files_;
  std::string text_;
};

}  // namespace weir::tools
