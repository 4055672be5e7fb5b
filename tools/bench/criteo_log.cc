#include "tools/bench/criteo_log.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "tools/bench/dlrm_shape.h"
#include "worker/data/criteo_writer.h"
#include "worker/data/synthetic.h"

namespace weir::bench {
namespace {

class RowMaker {
 public:
  explicit RowMaker(int64_t row_count) : set_(Shape(row_count)) {}

  const data::SyntheticRow& Make(int64_t index) {
    set_.MakeRow(data::Split::kTrain, index, &row_);
    for (size_t table = 0; table < row_.features.ids.size(); ++table) {
      uint64_t& id = row_.features.ids[table];
      if (id != 0) id = KeyedHash(1, table, id) >> 32;
    }
    return row_;
  }

 private:
  static v1::SyntheticConfig Shape(int64_t row_count) {
    v1::Config config;
    config.mutable_data()->mutable_synthetic()->set_rows(row_count);
    config::FillDefaults(&config);
    return config.data().synthetic();
  }

  const data::SyntheticSet set_;
  data::SyntheticRow row_;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Status VerifyLog(const std::string& path, int64_t row_count) {
  WEIR_ASSIGN_OR_RETURN(const auto reader, data::MakeReader(LogConfig(path)));
  RowMaker maker(row_count);
  data::RowBlock block;
  int64_t row = 0;
  bool equal = true;
  const auto rows = ForEachChunk(*reader, &block, [&](const data::RowBlock& read) {
    for (size_t i = 0; i < read.labels.size(); ++i) {
      const data::SyntheticRow& written = maker.Make(row++);
      equal = equal && read.labels[i] == written.label;
      for (size_t table = 0; table < kTables; ++table) {
        equal = equal && read.ids[i * kTables + table] == written.features.ids[table] % kTableRows;
      }
    }
  });
  WEIR_RETURN_IF_ERROR(rows.status());
  if (!equal || *rows != row_count) return Internal(StrCat(path, " was not read as written"));
  return OkStatus();
}

v1::Config LogConfig(const std::string& file) {
  v1::Config config;
  config.mutable_data()->add_train(file);
  config.mutable_data()->set_batch_size(kLogBatchRows);
  config.mutable_data()->mutable_criteo_tsv()->set_rows_per_table(kTableRows);
  config::FillDefaults(&config);
  return config;
}

Status WriteLog(const std::string& path, int64_t row_count) {
  RowMaker maker(row_count);
  WEIR_ASSIGN_OR_RETURN(const auto writer, data::CriteoWriter::Create(path));
  for (int64_t i = 0; i < row_count; ++i) WEIR_RETURN_IF_ERROR(writer->Write(maker.Make(i)));
  return writer->Close();
}

Result<Log> MakeLog(int64_t row_count) {
  WEIR_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make());
  for (const char* name : {kPlainLog, kPackedLog}) {
    WEIR_RETURN_IF_ERROR(WriteLog(folder.File(name), row_count));
    WEIR_RETURN_IF_ERROR(VerifyLog(folder.File(name), row_count));
  }
  std::string plain = Contents(folder.File(kPlainLog));
  std::string packed = Contents(folder.File(kPackedLog));
  return Log{std::move(folder), row_count, std::move(plain), std::move(packed)};
}

}  // namespace weir::bench
