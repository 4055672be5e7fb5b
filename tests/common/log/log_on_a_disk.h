// A log on a disk of the test's, whose records tell their numbers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "common/log/reader.h"
#include "common/log/writer.h"
#include "tests/support/memory_files.h"

namespace weir::log {

inline constexpr char kFolder[] = "/log";

inline v1::LogRecord Hello(uint64_t incarnation) {
  v1::LogRecord record;
  record.mutable_hello()->set_incarnation(incarnation);
  return record;
}

inline Bytes BodyOf(uint64_t number) {
  return Bytes(number * 7 % 50, static_cast<uint8_t>(number));
}

class LogTest : public testing::Test {
 protected:
  LogTest() { NewDisk(); }

  void NewDisk() {
    disk_ = std::make_unique<test::MemoryFiles>();
    CHECK(disk_->MakeFolder(kFolder).ok());
  }

  std::unique_ptr<LogWriter> Write(uint64_t first_number, bool syncs = false) {
    WriterOptions options{.files = *disk_, .clock = clock_, .folder = kFolder};
    options.syncs = syncs;
    options.commit_interval_ms = 5;
    return std::make_unique<LogWriter>(options, first_number, v1::LogStart());
  }
  void AppendNext(LogWriter* writer) {
    const uint64_t number = ++appended_;
    CHECK_EQ(writer->Append(Hello(number), {transport::Part(BodyOf(number))}), number);
  }

  // All that is there, each as it was written; how many.
  Result<uint64_t> ReadAll(uint64_t first_number = 1) {
    WEIR_ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(*disk_, kFolder, first_number));
    first_read_ = 0;
    while (true) {
      WEIR_ASSIGN_OR_RETURN(const std::optional<Record> record, reader.Next());
      if (!record) break;
      if (first_read_ == 0) first_read_ = record->number;
      if (record->header.has_start()) continue;
      EXPECT_EQ(record->header.hello().incarnation(), record->number);
      EXPECT_EQ(record->body, BodyOf(record->number));
    }
    torn_bytes_ = reader.torn_bytes();
    return reader.next_number() - 1;
  }

  // Starts, two records each, in files of their own.
  void WriteFiles(int count) {
    auto writer = Write(1);
    ++appended_;
    for (int i = 0; i < count; ++i) {
      if (i > 0) writer->Cut({});
      if (i > 0) ++appended_;
      AppendNext(writer.get());
      AppendNext(writer.get());
    }
    writer->Step();
  }

  std::unique_ptr<test::MemoryFiles> disk_;
  ManualClock clock_;
  uint64_t appended_ = 0, torn_bytes_ = 0, first_read_ = 0;
};

}  // namespace weir::log
