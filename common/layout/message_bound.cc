#include "common/layout/message_bound.h"

#include <algorithm>
#include <vector>

#include "common/base/strings.h"

namespace weir {
namespace {

// More than a piece's frame header and a part's framing take.
constexpr int64_t kOverheadPerPiece = 256;
// A stripe whose elements are all carried but one has a bitmap beside its values, and a block head.
constexpr int64_t kOverheadPerStripe = kStripeElements / 8 + 32;

// A worker tells the scores of so many chunks at once: those in its hands and one just finished.
constexpr int64_t kScoredChunks = 3;

// Probability and label of a row.
constexpr int64_t kScoreBytes = sizeof(float) + 1;

// With splits a row has two scores: with masks and without.
Status CheckScores(const v1::Config& config, int64_t bound) {
  const v1::DataConfig& data = config.data();
  if (data.test_size() == 0 && data.synthetic().test_rows() == 0) return OkStatus();
  const int64_t rows = int64_t{data.batch_size()} * data.chunk_batches();
  const int64_t row_bytes = (config.pipeline().split().empty() ? 1 : 2) * kScoreBytes;
  const int64_t bytes = kScoredChunks * (rows * row_bytes + kOverheadPerPiece);
  if (bytes <= bound) return OkStatus();
  return InvalidConfig(StrCat("cluster.max_message_bytes: ", bound,
                              " is too small for the scores of test rows, which can take ", bytes,
                              " bytes in one message; set at least that, or a smaller "
                              "data.chunk_batches"));
}

// An id takes at most so many bytes beside its row.
constexpr int64_t kIdBytes = 9;

// A batch may have another row of each table in each sample, and all of one server. With lists of
// ids it may have more: a message that is too large then ends the run when it comes.
Status CheckRows(const v1::Config& config, const ModelLayout& layout, int64_t bound) {
  const int64_t row_bytes =
      layout.embedding_dimension() * static_cast<int64_t>(sizeof(float)) + kIdBytes;
  int64_t bytes = 0;
  for (const TableSpec& table : layout.tables()) {
    bytes += std::min<int64_t>(config.data().batch_size(), table.row_count) * row_bytes +
             kOverheadPerPiece;
  }
  if (bytes <= bound) return OkStatus();
  return InvalidConfig(StrCat("cluster.max_message_bytes: ", bound,
                              " is too small for the embedding rows of a batch, which can take ",
                              bytes,
                              " bytes in one message; set at least that, or a smaller "
                              "data.batch_size"));
}

// A chunk's lines are numbered in a batch's name, as varints.
constexpr int64_t kBytesPerMalformedLine = 5;

int64_t LinkMessageBytes(const v1::Config& config, int64_t width) {
  const int64_t rows = config.data().batch_size();
  const int64_t elements = rows * width;
  const int64_t frames = rows / kLeastSliceRows + 1;
  // In evaluation twice: as in training and whole.
  const int64_t body = 2 * (elements * static_cast<int64_t>(sizeof(float)) + elements / 8 +
                            frames * kOverheadPerPiece);
  return body + rows * config.data().chunk_batches() * kBytesPerMalformedLine;
}

}  // namespace

Status CheckMessageBound(const v1::Config& config, const ModelLayout& layout) {
  std::vector<int64_t> bytes(layout.server_count());
  for (const PieceSpec& piece : layout.pieces()) {
    const int64_t stripes = (piece.element_count + kStripeElements - 1) / kStripeElements;
    bytes[piece.server] += piece.element_count * static_cast<int64_t>(sizeof(float)) +
                           stripes * kOverheadPerStripe + kOverheadPerPiece;
  }
  const auto largest = std::ranges::max_element(bytes);
  const int64_t bound = config.cluster().max_message_bytes();
  WEIR_RETURN_IF_ERROR(CheckScores(config, bound));
  WEIR_RETURN_IF_ERROR(CheckRows(config, layout, bound));
  if (*largest <= bound) return OkStatus();
  return InvalidConfig(StrCat("cluster.max_message_bytes: ", bound, " is too small for server ",
                              largest - bytes.begin(), ", whose dense parameters can take ",
                              *largest,
                              " bytes in one answer; set at least that, or use more servers"));
}

int64_t LargestLinkMessage(const v1::Config& config, const ModelLayout& layout) {
  const auto stages = layout.stages();
  int64_t largest = 0;
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    largest = std::max(largest, LinkMessageBytes(config, stages[i].output_width));
  }
  return largest;
}

Status CheckLinkMessageBound(const v1::Config& config, const ModelLayout& layout) {
  const int64_t bound = config.cluster().max_message_bytes();
  const auto stages = layout.stages();
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    const int64_t bytes = LinkMessageBytes(config, stages[i].output_width);
    if (bytes <= bound) continue;
    return InvalidConfig(StrCat("cluster.max_message_bytes: ", bound, " is too small for split ", i,
                                " of the pipeline, over which a batch can take ", bytes,
                                " bytes in one message; set at least that, or a smaller "
                                "data.batch_size"));
  }
  return OkStatus();
}

}  // namespace weir
