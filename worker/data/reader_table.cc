#include "worker/data/reader_table.h"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "worker/data/criteo_tsv.h"
#include "worker/data/csv_format.h"
#include "worker/data/libsvm_format.h"
#include "worker/data/row_shuffle.h"
#include "worker/data/synthetic.h"
#include "worker/data/text_reader.h"

namespace weir::data {
namespace {

Result<std::unique_ptr<Reader>> MakeCriteo(const v1::Config& config, const v1::LearnedColumns&,
                                           RowLabels labels) {
  return MakeCriteoTsvReader(config, labels);
}

Result<std::unique_ptr<Reader>> MakeSynthetic(const v1::Config& config, const v1::LearnedColumns&,
                                              RowLabels) {
  return MakeSyntheticReader(config);
}

Result<std::unique_ptr<Reader>> MakeCsv(const v1::Config& config, const v1::LearnedColumns& learned,
                                        RowLabels labels) {
  return MakeTextReader(config.data(), MakeCsvFormat(config.data().csv(), learned, labels), labels);
}

Result<std::unique_ptr<Reader>> MakeLibsvm(const v1::Config& config, const v1::LearnedColumns&,
                                           RowLabels labels) {
  return MakeTextReader(config.data(), MakeLibsvmFormat(config.data().libsvm(), labels), labels);
}

}  // namespace

std::span<const ReaderEntry> ReaderTable() {
  static constexpr std::array<ReaderEntry, 4> kTable = {{
      {v1::DataConfig::kCriteoTsv, MakeCriteo},
      {v1::DataConfig::kSynthetic, MakeSynthetic},
      {v1::DataConfig::kCsv, MakeCsv},
      {v1::DataConfig::kLibsvm, MakeLibsvm},
  }};
  return kTable;
}

std::vector<uint64_t> FileBytes(const v1::DataConfig& data) {
  std::vector<uint64_t> sizes;
  if (data.has_synthetic()) return sizes;
  const std::filesystem::path root = data.root();
  for (const auto* paths : {&data.train(), &data.test()}) {
    for (const std::string& path : *paths) {
      std::error_code error;
      const auto size = std::filesystem::file_size(root / path, error);
      sizes.push_back(error ? 0 : size);
    }
  }
  return sizes;
}

Result<v1::LearnedColumns> LearnFromData(const v1::Config& config) {
  if (config.data().has_csv()) return LearnColumns(config.data());
  return v1::LearnedColumns();
}

Result<std::unique_ptr<Reader>> MakeReader(const v1::Config& config,
                                           const v1::LearnedColumns& learned, RowLabels labels) {
  for (const ReaderEntry& entry : ReaderTable()) {
    if (entry.reader_case != config.data().reader_case()) continue;
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, entry.make(config, learned, labels));
    if (!config.data().shuffle()) return reader;
    return MakeShufflingReader(std::move(reader), config.run().seed());
  }
  return InvalidConfig(
      "data: no reader is chosen; set criteo_tsv {}, csv {}, libsvm {} or synthetic {}");
}

Result<std::unique_ptr<Reader>> MakeReader(const v1::Config& config) {
  WEIR_ASSIGN_OR_RETURN(const v1::LearnedColumns learned, LearnFromData(config));
  return MakeReader(config, learned);
}

}  // namespace weir::data
