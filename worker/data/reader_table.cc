#include "worker/data/reader_table.h"

#include <array>
#include <utility>

#include "worker/data/criteo_tsv.h"
#include "worker/data/row_shuffle.h"
#include "worker/data/synthetic.h"

namespace weir::data {

std::span<const ReaderEntry> ReaderTable() {
  static constexpr std::array<ReaderEntry, 2> kTable = {{
      {v1::DataConfig::kCriteoTsv, MakeCriteoTsvReader},
      {v1::DataConfig::kSynthetic, MakeSyntheticReader},
  }};
  return kTable;
}

Result<std::unique_ptr<Reader>> MakeReader(const v1::Config& config) {
  for (const ReaderEntry& entry : ReaderTable()) {
    if (entry.reader_case != config.data().reader_case()) continue;
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, entry.make(config));
    if (!config.data().shuffle()) return reader;
    return MakeShufflingReader(std::move(reader), config.run().seed());
  }
  return InvalidConfig("data: no reader is chosen; set criteo_tsv {} or synthetic {}");
}

}  // namespace weir::data
