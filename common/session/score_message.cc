#include "common/session/score_message.h"

#include "common/wire/score_frame.h"

namespace weir::session {

Bytes WriteScores(const eval::Scores& scores, v1::Completion* completion) {
  Bytes part;
  completion->set_has_scores(true);
  wire::AppendScores(&part, scores.probabilities, scores.labels);
  if (scores.unmasked.empty()) return part;
  completion->set_has_unmasked_scores(true);
  wire::AppendScores(&part, scores.unmasked, scores.labels);
  return part;
}

Result<eval::Scores> ReadScores(const v1::Completion& completion, ByteSpan part) {
  eval::Scores scores;
  wire::FrameCursor cursor(part);
  WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
  WEIR_RETURN_IF_ERROR(wire::DecodeScores(frame, &scores.probabilities, &scores.labels));
  if (completion.has_unmasked_scores()) {
    std::vector<uint8_t> labels;
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView second, cursor.Next());
    WEIR_RETURN_IF_ERROR(wire::DecodeScores(second, &scores.unmasked, &labels));
    if (labels != scores.labels) return InvalidData("the same rows have other labels once more");
  }
  if (!cursor.done()) return InvalidData("more frames of scores for a chunk than announced");
  return scores;
}

Result<std::vector<eval::Scores>> ReadAllScores(const v1::WorkRequest& request,
                                                std::span<const ByteSpan> parts) {
  std::vector<eval::Scores> all;
  size_t part = 0;
  for (const v1::Completion& completion : request.completions()) {
    eval::Scores& scores = all.emplace_back();
    if (!completion.has_scores()) continue;
    if (part == parts.size()) return InvalidData("scores were announced and are missing");
    WEIR_ASSIGN_OR_RETURN(scores, ReadScores(completion, parts[part++]));
  }
  if (part < parts.size()) return InvalidData("scores that were not announced");
  return all;
}

}  // namespace weir::session
