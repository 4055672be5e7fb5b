#include "worker/embedded/row_numbers.h"

#include <algorithm>
#include <utility>

namespace weir::worker {

RowNumbers::RowNumbers(const ModelLayout& layout, device::Device& device) : device_(device) {
  uint32_t first = 0;
  for (const TableSpec& table : layout.tables()) {
    first_.push_back(first);
    first += static_cast<uint32_t>(table.row_count);
  }
}

RowNumbers::Uploaded RowNumbers::Upload(const data::Batch& batch, device::Stream& stream) {
  size_t count = 0;
  for (const data::TableIds& ids : batch.tables) count += ids.unique.size();
  std::unique_ptr<Numbers> numbers = Take(stream);
  if (numbers->mirror.size() < count) numbers->mirror = {device_, count + count / 4, "row numbers"};
  size_t next = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      numbers->mirror.host()[next++] = Of(table, id);
    }
  }
  numbers->count = static_cast<int64_t>(count);
  numbers->mirror.Upload(stream, count);
  return Uploaded(numbers.release(), GiveBack{this});
}

std::unique_ptr<RowNumbers::Numbers> RowNumbers::Take(device::Stream& stream) {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(spare_, &stream, [](const auto& spare) { return spare->stream; });
  std::unique_ptr<Numbers> numbers;
  if (found == spare_.end()) {
    numbers = std::make_unique<Numbers>();
    numbers->stream = &stream;
  } else {
    numbers = std::move(*found);
    spare_.erase(found);
  }
  return numbers;
}

void RowNumbers::Keep(Numbers* numbers) {
  const MutexLock lock(mutex_);
  spare_.emplace_back(numbers);
}

}  // namespace weir::worker
