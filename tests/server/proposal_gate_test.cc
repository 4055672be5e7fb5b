#include "server/proposal_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/session/header_message.h"
#include "common/wire/element_ids.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Offsets = std::vector<uint32_t>;

class ProposalGateTest : public testing::Test {
 protected:
  ProposalGateTest() {
    gate_.Open({{.tensor = 3, .begin = 0, .element_count = 5000}, {3, 8192, 100}});
  }

  static v1::Proposal ProposalOf(uint64_t round, const std::string& word, const std::string& note) {
    v1::Proposal proposal;
    proposal.set_request_id(100 + round);
    proposal.set_round(round);
    v1::PolicyWord& said = *proposal.add_words();
    said.set_word(word);
    said.set_note(note);
    return proposal;
  }
  Result<std::optional<ProposalGate::Reply>> Propose(uint32_t trainer, uint64_t round,
                                                     const std::vector<uint32_t>& members,
                                                     std::vector<Offsets> elements,
                                                     const std::string& word = "") {
    const std::string name = std::to_string(trainer);
    return gate_.Keep({trainer, "peer " + name, 7, round, members},
                      ProposalOf(round, word, "note " + name), {std::move(elements)});
  }
  static v1::Agreement AgreementOf(const transport::Message& message) {
    return session::ParseHeader(message)->agreement();
  }

  ProposalGate gate_;
};

TEST_F(ProposalGateTest, AnswersAllWithTheUnionOnceAllHaveProposed) {
  ASSERT_TRUE(Propose(1, 1, {0, 1}, {{5, 4999}, {}}).ok());
  EXPECT_TRUE(gate_.Close().empty());
  EXPECT_EQ(gate_.UnionOf(1), nullptr);
  ASSERT_TRUE(Propose(0, 1, {0, 1}, {{0, 5, 64}, {99}}).ok());
  const auto replies = gate_.Close();
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].peer, "peer 0");
  EXPECT_EQ(replies[1].peer, "peer 1");
  EXPECT_EQ(AgreementOf(replies[1].message).request_id(), 101u);
  EXPECT_THAT(gate_.UnionOf(1)->of_strand, ElementsAre(Offsets{0, 5, 64, 4999}, Offsets{99}));
  session::BodyReader reader(replies[0].message);
  Offsets offsets;
  ASSERT_TRUE(wire::DecodeElementIds(reader.Next().value(), 5000, &offsets).ok());
  EXPECT_EQ(offsets, (Offsets{0, 5, 64, 4999}));
  ASSERT_TRUE(wire::DecodeElementIds(reader.Next().value(), 100, &offsets).ok());
  EXPECT_EQ(offsets, Offsets{99});
  EXPECT_TRUE(reader.done());
}

// Of a piece of which nobody proposes anything there is no frame.
TEST_F(ProposalGateTest, NothingProposedIsAnEmptyUnion) {
  ASSERT_TRUE(Propose(0, 1, {0}, {{}, {}}).ok());
  const auto replies = gate_.Close();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].message.parts.size(), 1u);
  EXPECT_THAT(gate_.UnionOf(1)->of_strand, ElementsAre(Offsets{}, Offsets{}));
}

// Of rank round % 3 in round 4, which is 1; it says nothing, so the next one's word counts.
TEST_F(ProposalGateTest, PassesOnTheLeadersWordAndAllNotes) {
  ASSERT_TRUE(Propose(2, 4, {2, 5, 9}, {{}, {}}, "of 2").ok());
  ASSERT_TRUE(Propose(5, 4, {2, 5, 9}, {{}, {}}, "").ok());
  ASSERT_TRUE(Propose(9, 4, {2, 5, 9}, {{}, {}}, "of 9").ok());
  const v1::Agreement agreement = AgreementOf(gate_.Close().at(0).message);
  ASSERT_EQ(agreement.words_size(), 1);
  EXPECT_EQ(agreement.words(0).word(), "of 9");
  EXPECT_THAT(agreement.words(0).notes(), ElementsAre("note 2", "note 5", "note 9"));
}

TEST_F(ProposalGateTest, GoesOnWithoutWhoIsGone) {
  ASSERT_TRUE(Propose(0, 3, {0, 1}, {{1}, {}}, "of 0").ok());
  v1::Departure departure;
  departure.set_trainer(1);
  departure.set_last_round(8);
  gate_.Leave(departure);
  const v1::Agreement agreement = AgreementOf(gate_.Close().at(0).message);
  EXPECT_EQ(agreement.words(0).word(), "of 0");
  EXPECT_THAT(agreement.words(0).notes(), ElementsAre("note 0", ""));
}

// Its reply was lost with a connection.
TEST_F(ProposalGateTest, AnswersAgainUntilTheRoundIsAStep) {
  ASSERT_TRUE(Propose(0, 1, {0}, {{1}, {}}).ok());
  gate_.Close();
  const auto again = Propose(0, 1, {0}, {{1}, {}});
  ASSERT_TRUE(again.ok() && *again);
  EXPECT_EQ((*again)->message.parts.size(), 2u);
  EXPECT_FALSE(Propose(3, 1, {0, 3}, {{1}, {}}).ok()) << "it was not in the round";
  gate_.Forget(1);
  EXPECT_EQ(gate_.UnionOf(1), nullptr);
  EXPECT_THAT(Propose(0, 1, {0}, {{1}, {}}).status().message(),
              HasSubstr("round 1 went on without trainer 0"));
}

// One that proposes round after round alone.
TEST_F(ProposalGateTest, HasABoundOnUnionsThatNobodyPushes) {
  for (uint64_t round = 1; round <= 16; ++round) {
    ASSERT_TRUE(Propose(0, round, {0}, {{1}, {}}).ok());
    gate_.Close();
  }
  EXPECT_THAT(Propose(0, 17, {0}, {{1}, {}}).status().message(), HasSubstr("without a push"));
  gate_.Forget(16);
  EXPECT_TRUE(Propose(0, 17, {0}, {{1}, {}}).ok());
}

TEST_F(ProposalGateTest, WhatIsOnItsWayAgainIsNotKept) {
  ASSERT_TRUE(Propose(0, 1, {0, 1}, {{1}, {}}).ok());
  gate_.Drop(0);
  ASSERT_TRUE(Propose(1, 1, {0, 1}, {{2}, {}}).ok());
  EXPECT_TRUE(gate_.Close().empty());
  EXPECT_EQ(gate_.Notices().size(), 1u);
}

}  // namespace
}  // namespace weir::server
