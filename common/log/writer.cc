#include "common/log/writer.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "common/log/record.h"
#include "common/log/segments.h"

namespace weir::log {
namespace {

uint64_t SizeOf(const std::vector<transport::Part>& body) {
  uint64_t bytes = 0;
  for (const transport::Part& part : body) bytes += part.size();
  return bytes;
}

}  // namespace

LogWriter::LogWriter(WriterOptions options, uint64_t first_number, v1::LogStart start)
    : options_(std::move(options)),
      next_number_(first_number),
      written_(first_number - 1),
      durable_(options_.syncs ? 0 : written_.load()) {
  Cut(std::move(start));
}

LogWriter::~LogWriter() {
  {
    MutexLock lock(mutex_);
    stops_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

uint64_t LogWriter::Append(v1::LogRecord header, std::vector<transport::Part> body) {
  return Put({.header = std::move(header), .body = std::move(body)});
}

void LogWriter::Cut(v1::LogStart start) {
  Queued record{.begins_file = true, .header = {}, .body = {}};
  *record.header.mutable_start() = std::move(start);
  Put(std::move(record));
}

uint64_t LogWriter::Put(Queued record) {
  record.number = next_number_++;
  const uint64_t body_bytes = SizeOf(record.body);
  queued_bytes_ += body_bytes;
  if (record.begins_file) file_bytes_ = 0;
  file_bytes_ += kPrefixBytes + record.header.ByteSizeLong() + body_bytes;
  MutexLock lock(mutex_);
  queue_.push_back(std::move(record));
  changed_.NotifyAll();
  return next_number_ - 1;
}

Status LogWriter::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

void LogWriter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void LogWriter::Run() {
  while (true) {
    const int64_t due_ms = Step();
    MutexLock lock(mutex_);
    const Condition::Time due = Condition::After(due_ms);
    while (queue_.empty() && !stops_) {
      if (due_ms == 0) {
        changed_.Wait(lock);
      } else if (!changed_.WaitUntil(lock, due)) {
        break;
      }
    }
    if (stops_ && queue_.empty() && written_ == durable_) return;
    if (!failure_.ok()) return;
  }
}

int64_t LogWriter::Step() {
  std::vector<Queued> batch;
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return 0;
    batch.swap(queue_);
  }
  if (Status status = Write(std::move(batch)); !status.ok()) Fail(std::move(status));
  if (!options_.syncs || written_ == durable_) return 0;
  const int64_t due_ms = synced_ms_ + options_.commit_interval_ms - options_.clock.NowMs();
  return std::max<int64_t>(due_ms, 1);
}

Status LogWriter::Write(std::vector<Queued> batch) {
  std::span<const Queued> rest(batch);
  while (!rest.empty()) {
    if (rest[0].begins_file) WEIR_RETURN_IF_ERROR(Begin(rest[0].number));
    const auto next = std::find_if(rest.begin() + 1, rest.end(),
                                   [](const Queued& record) { return record.begins_file; });
    const auto count = static_cast<size_t>(next - rest.begin());
    WEIR_RETURN_IF_ERROR(WriteTogether(rest.first(count)));
    rest = rest.subspan(count);
  }
  return Commit();
}

Status LogWriter::WriteTogether(std::span<const Queued> records) {
  std::vector<Bytes> beginnings;
  beginnings.reserve(records.size());
  std::vector<ByteSpan> parts;
  uint64_t body_bytes = 0;
  for (const Queued& record : records) {
    beginnings.push_back(BeginRecord(record.number, durable_, record.header, record.body));
    parts.emplace_back(beginnings.back());
    for (const transport::Part& part : record.body) parts.push_back(part.span());
    body_bytes += SizeOf(record.body);
  }
  WEIR_RETURN_IF_ERROR(file_->Append(parts));
  queued_bytes_ -= body_bytes;
  written_ = records.back().number;
  if (!options_.syncs) durable_ = written_.load();
  options_.on_progress();
  return OkStatus();
}

// What the files before have is durable before this one's name is, so no later record is there
// without the earlier; what a process before this one wrote had perhaps not been synced.
Status LogWriter::Begin(uint64_t number) {
  if (options_.syncs) WEIR_RETURN_IF_ERROR(file_ == nullptr ? SyncFormerFiles() : file_->Sync());
  WEIR_ASSIGN_OR_RETURN(file_, options_.files.Create(SegmentPath(options_.folder, number)));
  return options_.syncs ? options_.files.SyncFolder(options_.folder) : OkStatus();
}

Status LogWriter::SyncFormerFiles() {
  WEIR_ASSIGN_OR_RETURN(const auto segments, FindSegments(options_.files, options_.folder));
  for (const Segment& segment : segments) {
    WEIR_RETURN_IF_ERROR(options_.files.SyncFile(segment.path));
  }
  return OkStatus();
}

Status LogWriter::Commit() {
  const bool is_due = options_.clock.NowMs() >= synced_ms_ + options_.commit_interval_ms;
  if (!options_.syncs || written_ == durable_ || !is_due) return OkStatus();
  const uint64_t synced = written_;
  WEIR_RETURN_IF_ERROR(file_->Sync());
  synced_ms_ = options_.clock.NowMs();
  durable_ = synced;
  options_.on_progress();
  return OkStatus();
}

void LogWriter::Fail(Status status) {
  {
    MutexLock lock(mutex_);
    failure_ = std::move(status);
  }
  options_.on_progress();
}

}  // namespace weir::log
