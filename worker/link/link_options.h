// What a worker's link is told beside the config.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/environment.h"
#include "common/kernels/compute.h"
#include "common/proto/learned.pb.h"
#include "common/proto/protocol.pb.h"

namespace weir::worker {

struct LinkOptions {
  Environment environment = {};
  std::vector<std::string> server_addresses;  // entry i is shard i
  uint32_t trainer = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;       // that a trainer's model is cut into; 1: it is whole
  std::string link_address = {};  // where the stage before finds this one; empty: there is none
  // Of several stages: hears the state of the pipeline, from the I/O thread, often. May be called
  // again with what it knows.
  std::function<void(const v1::PipelineView&)> on_pipeline = {};
  // Whether the model is pulled when the run is over: the servers stay until this link is
  // destroyed.
  bool saves = false;
  // Whether they stay so long although nothing is pulled.
  bool stays = false;
  // Some worker of the run saves the model: the servers stay for that one too.
  bool awaits_model = false;
  // Id of the saved model that the run goes on from; 0: none.
  uint64_t warm_start = 0;
  // Of what it reads, data::FileBytes.
  std::vector<uint64_t> file_bytes = {};
  uint32_t train_files = 0;         // how many of them are to train on
  v1::LearnedColumns learned = {};  // by the reader, for servers that save the model
  // Where the replica is.
  kernels::Compute compute = kernels::CpuCompute(kernels::Precision::kF32);
};

}  // namespace weir::worker
