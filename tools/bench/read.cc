// Reading a Criteo log from the page cache: lines to rows, rows to batches, plain and compressed;
// and the same bytes as those of a CSV file of somebody's own.

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "tools/bench/criteo_log.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/measure.h"
#include "tools/bench/read_cost.h"
#include "tools/bench/sections.h"
#include "worker/data/batch.h"
#include "worker/data/reader.h"

namespace weir::bench {
namespace {

int64_t RowCount(const Options& options) { return options.quick ? 2'048 : 65'536; }

void MakeBatches(const data::RowBlock& block, data::Batch* batch) {
  for (int64_t begin = 0; begin < block.row_count(); begin += kLogBatchRows) {
    data::MakeBatch(block, begin, std::min(begin + kLogBatchRows, block.row_count()), batch);
    KeepAlive(batch);
  }
}

void Look(const data::RowBlock& block) { KeepAlive(&block); }

int64_t CountNewlines(const std::string& text) {
  int64_t count = 0;
  for (const char* at = text.data(); at != nullptr; ++count) {
    at = static_cast<const char*>(
        std::memchr(at, '\n', static_cast<size_t>(text.data() + text.size() - at)));
    if (at != nullptr) ++at;
  }
  return count - 1;
}

// zlib by itself: the whole file's bytes through one window.
size_t Inflate(const std::string& packed, std::string* window) {
  z_stream stream = {};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<unsigned>(packed.size());
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<unsigned char*>(window->data());
    stream.avail_out = static_cast<unsigned>(window->size());
    code = inflate(&stream, Z_NO_FLUSH);
  }
  const size_t size = stream.total_out;
  inflateEnd(&stream);
  return size;
}

// The same of a file whose rows are counted: how it went, however often it is read.
class Reading {
 public:
  Reading(data::Reader& reader, int64_t row_count) : reader_(reader), row_count_(row_count) {}

  template <typename Visit>
  void All(Visit&& visit) {
    const auto rows = ForEachChunk(reader_, &block_, visit);
    if (!status_.ok()) return;
    status_ = rows.status();
    if (rows.ok() && *rows != row_count_) {
      status_ = Internal(StrCat(*rows, " rows were read of ", row_count_));
    }
  }
  const Status& status() const { return status_; }

 private:
  data::Reader& reader_;
  const int64_t row_count_;
  data::RowBlock block_;
  Status status_;
};

Status AddPlain(const Options& options, const Log& log, data::Reader& reader, Lines* lines) {
  Reading reading(reader, log.row_count);
  std::string copy(log.plain.size(), '\0');
  int64_t newlines = 0;
  const auto median =
      MedianSeconds(options.repeats, {[&] { reading.All(Look); },
                                      [&] {
                                        std::memcpy(copy.data(), log.plain.data(), copy.size());
                                        KeepAlive(copy.data());
                                      },
                                      [&] {
                                        newlines = CountNewlines(log.plain);
                                        KeepAlive(&newlines);
                                      }});
  WEIR_RETURN_IF_ERROR(reading.status());
  if (newlines != log.row_count) return Internal(StrCat("memchr found ", newlines, " newlines"));
  const double megabytes = static_cast<double>(log.plain.size()) / 1e6;
  const auto add = [&](const char* name, const char* peer, double peer_value) {
    lines->push_back({.name = StrCat("read/criteo_tsv/of_", name),
                      .value = megabytes / median[0],
                      .unit = "MB/s",
                      .peer = peer,
                      .peer_value = peer_value});
  };
  add("memcpy", "memcpy", megabytes / median[1]);
  add("newlines", "newlines by memchr", megabytes / median[2]);
  return OkStatus();
}

Status AddPacked(const Options& options, const Log& log, data::Reader& reader, Lines* lines) {
  Reading reading(reader, log.row_count);
  std::string window(size_t{1} << 18, '\0');
  size_t size = 0;
  const auto median = MedianSeconds(options.repeats, {[&] { reading.All(Look); },
                                                      [&] {
                                                        size = Inflate(log.packed, &window);
                                                        KeepAlive(window.data());
                                                      }});
  WEIR_RETURN_IF_ERROR(reading.status());
  if (size != log.plain.size()) return Internal(StrCat("zlib inflated ", size, " bytes"));
  const double megabytes = static_cast<double>(log.plain.size()) / 1e6;
  lines->push_back({.name = "read/criteo_tsv_gz",
                    .value = megabytes / median[0],
                    .unit = "MB/s",
                    .peer = "zlib inflate",
                    .peer_value = megabytes / median[1]});
  return OkStatus();
}

// The log as a file of tab-separated values: counts, and categories by their hash.
v1::Config CsvConfig(const std::string& path) {
  v1::Config config = LogConfig(path);
  v1::CsvConfig& csv = *config.mutable_data()->mutable_csv();
  csv.set_delimiter("\\t");
  csv.set_header(false);
  csv.mutable_label()->set_column("0");
  for (int i = 0; i < kDenseFeatures; ++i) {
    v1::DenseColumn& column = *csv.add_dense();
    column.set_column(StrCat(1 + i));
    column.mutable_log1p();
  }
  for (int i = 0; i < kTables; ++i) {
    v1::CategoricalColumn& column = *csv.add_categorical();
    column.set_column(StrCat(1 + kDenseFeatures + i));
    column.set_rows(kTableRows);
  }
  config::FillDefaults(&config);
  return config;
}

Status AddCsv(const Options& options, const Log& log, data::Reader& criteo, Lines* lines) {
  WEIR_ASSIGN_OR_RETURN(const auto csv, data::MakeReader(CsvConfig(log.folder.File(kPlainLog))));
  Reading ours(*csv, log.row_count), peers(criteo, log.row_count);
  const auto median =
      MedianSeconds(options.repeats, {[&] { ours.All(Look); }, [&] { peers.All(Look); }});
  WEIR_RETURN_IF_ERROR(Joined(ours.status(), peers.status()));
  const double megabytes = static_cast<double>(log.plain.size()) / 1e6;
  lines->push_back({.name = "read/csv",
                    .value = megabytes / median[0],
                    .unit = "MB/s",
                    .peer = "the Criteo reader",
                    .peer_value = megabytes / median[1],
                    .goal = 1 / 1.5});
  return OkStatus();
}

// Medians of reading all rows and making batches of them, and of the work beside it, in turns.
Result<std::vector<double>> SecondsToBatches(const Options& options, data::Reader& reader,
                                             const std::function<void()>& beside) {
  Reading reading(reader, RowCount(options));
  data::Batch batch;
  const auto all = [&] {
    reading.All([&](data::RowBlock& read) {
      const data::RowBlock handed_on = std::move(read);  // as a worker does: new memory each time
      MakeBatches(handed_on, &batch);
    });
  };
  std::vector<double> median = MedianSeconds(options.repeats, {all, beside});
  WEIR_RETURN_IF_ERROR(reading.status());
  return median;
}

Status AddToBatch(const Options& options, const Log& log, data::Reader& reader, Lines* lines) {
  std::string copy(log.plain.size(), '\0');
  WEIR_ASSIGN_OR_RETURN(const auto median, SecondsToBatches(options, reader, [&] {
                          std::memcpy(copy.data(), log.plain.data(), copy.size());
                          KeepAlive(copy.data());
                        }));
  const double rows = static_cast<double>(log.row_count) / 1e6;
  lines->push_back({.name = "read/to_batch",
                    .value = median[0] / rows,
                    .unit = "us/row",
                    .peer = "memcpy of the text",
                    .peer_value = median[1] / rows,
                    .better = Better::kLess});
  return OkStatus();
}

Status AddMakeBatch(const Options& options, const Log& log, data::Reader& reader, Lines* lines) {
  std::vector<data::RowBlock> blocks;
  data::RowBlock copy;
  Reading reading(reader, log.row_count);
  reading.All([&](const data::RowBlock& read) { blocks.push_back(read); });
  WEIR_RETURN_IF_ERROR(reading.status());
  data::Batch batch;
  const auto median = MedianSeconds(options.repeats, {[&] {
                                                        for (const data::RowBlock& each : blocks) {
                                                          MakeBatches(each, &batch);
                                                        }
                                                      },
                                                      [&] {
                                                        for (const data::RowBlock& each : blocks) {
                                                          copy = each;
                                                          KeepAlive(&copy);
                                                        }
                                                      }});
  const double rows = static_cast<double>(log.row_count) / 1e6;
  lines->push_back({.name = "read/make_batch",
                    .value = rows / median[0],
                    .unit = "M rows/s",
                    .peer = "copying the rows",
                    .peer_value = rows / median[1]});
  return OkStatus();
}

}  // namespace

Result<double> ReadSecondsPerRow(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  const std::string path = folder.File(kPlainLog);
  WEIR_RETURN_IF_ERROR(WriteLog(path, RowCount(options)));
  WEIR_ASSIGN_OR_RETURN(const auto reader, data::MakeReader(LogConfig(path)));
  WEIR_ASSIGN_OR_RETURN(const auto median, SecondsToBatches(options, *reader, [] {}));
  return median[0] / static_cast<double>(RowCount(options));
}

Result<Lines> BenchRead(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const Log log, MakeLog(RowCount(options)));
  WEIR_ASSIGN_OR_RETURN(const auto plain, data::MakeReader(LogConfig(log.folder.File(kPlainLog))));
  WEIR_ASSIGN_OR_RETURN(const auto packed,
                        data::MakeReader(LogConfig(log.folder.File(kPackedLog))));
  Lines lines;
  WEIR_RETURN_IF_ERROR(AddPlain(options, log, *plain, &lines));
  WEIR_RETURN_IF_ERROR(AddPacked(options, log, *packed, &lines));
  WEIR_RETURN_IF_ERROR(AddCsv(options, log, *plain, &lines));

  WEIR_RETURN_IF_ERROR(AddMakeBatch(options, log, *plain, &lines));
  WEIR_RETURN_IF_ERROR(AddToBatch(options, log, *plain, &lines));
  return lines;
}

}  // namespace weir::bench
