// Faults of the system's own, which a simulated run has to find.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace weir::simulation {

enum class Plant {
  kNone,
  // Of the disk.
  kNothingSynced,       // servers promise what the end of their machine takes away
  kSyncLies,            // a file that was synced is not
  kNamesNotSynced,      // a folder that was synced is not
  kSnapshotsNotSynced,  // a snapshot has its name before its bytes are safe
  kWritesHeldBack,      // answers leave before their record is where the process's end spares it
  kBytesRot,            // of a log, now and then, when it is read again
  // Of what servers say.
  kPromisedTooEarly,     // the durable sequence is that of the answer
  kAnsweredTooEarly,     // the answer is said to be that of the next push, too
  kTakenTooHigh,         // the last push that a server took is said to be the one behind it
  kAnswerWithoutValues,  // some answers lack what has changed
  kLeaseLentTwice,       // and another one never
  kMemberLeftOut,        // of a round, in the lease of one trainer
  kSeatGrantedTwice,     // a trainer that comes again is taken for the one before it
  kEpochKept,            // a server that comes again is taken for the one before it
  // Of what trainers do.
  kPushTakenTwice,    // some are sent again under another number
  kDoneTooEarly,      // a lease is done before its pushes are accepted
  kAcceptedTooEarly,  // rows count as accepted once they are pushed
  // Of stages, and of what the coordinator says of them.
  kReadyTooEarly,     // all stages are said to be there while one is not, or has old batches
  kGenerationKept,    // a stage that comes again finds the pipeline as if it had not gone
  kOldBatchHandedOn,  // a stage hands on what it computed before others were told to drop it
  kDroppedIsTrained,  // what was dropped counts as trained when the first stage begins it again
  kReplacedIsTaken,   // who has been replaced in its seat is taken for who has it now
  kNeverBusy,         // later stages say that they have nothing to do, whatever they have
  kTestsUnrefreshed,  // a stage tests with the replica that it happens to have
  // Of a machine.
  kClockGoesBack,
};

// What the planted fault has seen, of all lives.
struct PlantMemory {
  uint64_t met = 0;                          // messages that it might befall
  std::map<uint64_t, uint64_t> incarnation;  // the first one of each worker
  std::map<uint64_t, uint64_t> last_incarnation;
  std::optional<uint64_t> lent_chunk;
  std::map<uint64_t, uint64_t> generation;  // the first of each stage with which batches may start
};

}  // namespace weir::simulation
