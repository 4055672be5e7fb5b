// Writes a log: records are queued by one thread and written by another, as many at a time as there
// are, so that a slow disk keeps nobody waiting who answers others.
//
// Place in the life of a batch: push -> number -> **log** -> answer.
// Thread rule: Append and Cut by the owner; Step by one thread, this object's own once it was
// started; the rest by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/file_system.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/log.pb.h"
#include "common/transport/message.h"

namespace weir::log {

struct WriterOptions {
  FileSystem& files = FileSystem::Real();
  const Clock& clock = Clock::Real();
  std::string folder;  // is there, and claimed
  // Whether what was written is synced too, and how often at most; else it is durable when it is
  // written.
  bool syncs = false;
  int64_t commit_interval_ms = 10;
  // The writing thread: written or durable has grown, or there is a failure.
  std::function<void()> on_progress = [] {};
};

class LogWriter {
 public:
  // The first record is a start, and gets this number. durable: as RecordPrefix has it.
  LogWriter(WriterOptions options, uint64_t first_number, v1::LogStart start);
  // What is queued is written, unless something has failed.
  ~LogWriter();

  // The record's number.
  uint64_t Append(v1::LogRecord header, std::vector<transport::Part> body = {});
  // What comes next goes into another file, behind a start of its own.
  void Cut(v1::LogStart start);

  // The last record that was written: it stays when the process ends.
  uint64_t written() const { return written_; }
  // That was promised to stay.
  uint64_t durable() const { return durable_; }
  // Of records that are not written.
  uint64_t queued_bytes() const { return queued_bytes_; }
  // That came since the current file was begun.
  uint64_t file_bytes() const { return file_bytes_; }
  // Why nothing more is written.
  Status failure() const;

  // A thread that steps whenever there is something to do.
  void Start();
  // Writes what is queued, and syncs it if that is due. After how long the next step is due; 0:
  // when there is something more.
  int64_t Step();

 private:
  struct Queued {
    uint64_t number = 0;
    bool begins_file = false;
    v1::LogRecord header;
    std::vector<transport::Part> body;
  };

  uint64_t Put(Queued record);
  void Run();
  Status Write(std::vector<Queued> batch);
  Status WriteTogether(std::span<const Queued> records);
  Status Begin(uint64_t number);
  Status SyncFormerFiles();
  Status Commit();
  void Fail(Status status);

  const WriterOptions options_;
  uint64_t next_number_, file_bytes_ = 0;
  std::atomic<uint64_t> written_;
  std::atomic<uint64_t> durable_;  // 0 until what others have written is synced too
  std::atomic<uint64_t> queued_bytes_{0};

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Queued> queue_ WEIR_GUARDED_BY(mutex_);
  bool stops_ WEIR_GUARDED_BY(mutex_) = false;
  Status failure_ WEIR_GUARDED_BY(mutex_);

  // The writing thread's.
  std::unique_ptr<WritableFile> file_;
  int64_t synced_ms_ = 0;
  std::thread thread_;
};

}  // namespace weir::log
