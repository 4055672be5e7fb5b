#include "worker/data/criteo_writer.h"

#include <array>
#include <charconv>
#include <utility>

#include "common/base/check.h"
#include "worker/data/criteo_line.h"

namespace weir::data {
namespace {

void AppendNumber(uint64_t value, int base, std::string* line) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  line->append(digits.data(), end);
}

}  // namespace

Result<std::unique_ptr<CriteoWriter>> CriteoWriter::Create(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(auto text, TextWriter::Create(path));
  return std::unique_ptr<CriteoWriter>(new CriteoWriter(std::move(text)));
}

Status CriteoWriter::Write(const SyntheticRow& row) {
  CHECK_EQ(row.features.counts.size(), kCriteoDenseCount);
  CHECK_EQ(row.features.ids.size(), kCriteoTableCount);
  line_.assign(1, row.label > 0 ? '1' : '0');
  for (const int64_t count : row.features.counts) {
    line_ += '\t';
    if (count >= 0) AppendNumber(static_cast<uint64_t>(count), 10, &line_);
  }
  for (const uint64_t id : row.features.ids) {
    line_ += '\t';
    if (id != 0) AppendNumber(id, 16, &line_);
  }
  line_ += '\n';
  return text_->Write(line_);
}

Status CriteoWriter::Close() { return text_->Close(); }

}  // namespace weir::data
