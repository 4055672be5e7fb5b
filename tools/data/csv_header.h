// The first record of a file of comma-separated values: whether it names the columns, and what is
// wrong with the names.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weir::tools {

using CsvRecord = std::vector<std::string>;

// records: the file's first ones. Names stand over numbers that they are none of, or at least
// differ and do not come again below. A name may be missing, a number, there twice, or there for
// more or fewer columns than the rows have.
bool IsHeader(std::span<const CsvRecord> records);

// Why no row below this header can be read, and what to do; empty when nothing is wrong. path: of
// the file; rows: what is below it.
std::string FaultOfHeader(const std::string& path, char delimiter, const CsvRecord& header,
                          std::span<const CsvRecord> rows, size_t row_width);

}  // namespace weir::tools
