// Trainers in rounds, each of them on the CPU and on a card, for tests of their being the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/wire/element_ids.h"
#include "tests/gpu/training/encoder_pair.h"

namespace weir::test {

// Adds what a trainer proposed to what others did.
inline void AddProposed(const ModelLayout& layout, const std::vector<session::Body>& bodies,
                        worker::AgreedPieces* agreed) {
  for (const session::Body& body : bodies) {
    session::BodyReader reader(body);
    while (!reader.done()) {
      const wire::FrameView frame = reader.Next().value();
      const auto piece = std::ranges::find(layout.tensor_pieces(frame.header.tensor),
                                           int64_t{frame.header.begin}, &PieceSpec::begin);
      std::vector<uint32_t> offsets;
      CHECK(wire::DecodeElementIds(frame, static_cast<uint32_t>(piece->element_count), &offsets)
                .ok());
      std::vector<uint32_t>& all = agreed->of_piece[piece->id];
      all.insert(all.end(), offsets.begin(), offsets.end());
      std::ranges::sort(all);
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
  }
}

// The leader's words, or those of the first behind it that had one, and all notes.
inline v1::Agreement WordsOf(const std::vector<v1::Proposal>& told, const compress::Turn& turn) {
  v1::Agreement words;
  for (int rule = 0; rule < told[0].words_size(); ++rule) {
    v1::AgreedWord& word = *words.add_words();
    for (uint32_t i = 0; i < turn.world && word.word().empty(); ++i) {
      word.set_word(told[(turn.leader() + i) % turn.world].words(rule).word());
    }
    for (const v1::Proposal& proposal : told) word.add_notes(proposal.words(rule).note());
  }
  return words;
}

class RoundsOnBoth {
 public:
  RoundsOnBoth(const std::string& compression, uint32_t world) : world_(world) {
    for (uint32_t rank = 0; rank < world; ++rank) {
      pairs_.push_back(std::make_unique<EncoderPair>(ConfigWith(compression)));
    }
    agreed_.of_piece.resize(pairs_[0]->layout().pieces().size());
  }

  void Step(uint64_t step) {
    std::vector<v1::Proposal> told(world_);
    std::vector<worker::StepEncoder::Dense> dense(world_);
    for (auto& piece : agreed_.of_piece) piece.clear();
    for (uint32_t rank = 0; rank < world_; ++rank) {
      gradients_ = Drawn(*pairs_[rank], step, rank);
      dense[rank] = pairs_[rank]->Put(gradients_);
      dense[rank].on_host = {};
      Propose(dense[rank], {.step = step, .rank = rank, .world = world_}, &told[rank]);
    }
    const v1::Agreement words = WordsOf(told, {.step = step, .rank = 0, .world = world_});
    for (uint32_t rank = 0; rank < world_; ++rank) Take(rank, dense[rank], words);
  }
  void StepWithoutPush(uint64_t step) { pairs_[step % world_]->Accumulate(pairs_[0]->Draw(step)); }
  size_t agreed_count() const {
    size_t count = 0;
    for (const auto& piece : agreed_.of_piece) count += piece.size();
    return count;
  }
  EncoderPair& pair(size_t rank) { return *pairs_[rank]; }

 private:
  // Also with many that are just as large, and with next to nothing.
  static std::vector<float> Drawn(const EncoderPair& pair, uint64_t step, uint32_t rank) {
    const uint64_t seed = 10 * step + rank;
    std::vector<float> drawn = step % 3 == 1 ? pair.DrawEighths(seed) : pair.Draw(seed);
    for (size_t i = 0; step % 5 == 4 && i < drawn.size(); ++i) {
      if (i % 1000 != seed % 1000) drawn[i] = 0;
    }
    return drawn;
  }

  void Propose(const worker::StepEncoder::Dense& dense, const compress::Turn& turn,
               v1::Proposal* told) {
    EncoderPair& pair = *pairs_[turn.rank];
    const auto on_cpu = pair.cpu().Propose({.on_host = gradients_, .on_device = {}}, turn, told);
    v1::Proposal of_card;
    const auto on_card = pair.card().Propose(dense, turn, &of_card);
    ASSERT_TRUE(on_card.ok()) << on_card.status();
    EXPECT_EQ(BytesOf(*on_card), BytesOf(*on_cpu));
    EXPECT_EQ(of_card.SerializeAsString(), told->SerializeAsString());
    AddProposed(pair.layout(), *on_cpu, &agreed_);
  }

  void Take(uint32_t rank, const worker::StepEncoder::Dense& dense, const v1::Agreement& words) {
    EncoderPair& pair = *pairs_[rank];
    worker::StepEncoder::Scratch of_cpu, of_card;
    const auto on_cpu = pair.cpu().EncodeAgreed({.on_host = gradients_, .on_device = {}}, {}, {},
                                                agreed_, words, &of_cpu);
    const auto on_card = pair.card().EncodeAgreed(dense, {}, {}, agreed_, words, &of_card);
    ASSERT_TRUE(on_card.ok()) << on_card.status();
    EXPECT_EQ(BytesOf(*on_card), BytesOf(*on_cpu));
  }

  const uint32_t world_;
  std::vector<std::unique_ptr<EncoderPair>> pairs_;
  std::vector<float> gradients_;  // of the last who proposed
  worker::AgreedPieces agreed_;
};

}  // namespace weir::test
