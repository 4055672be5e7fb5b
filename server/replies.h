// What strands have finished, as the messages that workers get.
//
// Place in the life of a batch: strands -> outbox -> **answer, rows** -> worker.
// Thread rule: I/O thread only.
#pragma once

#include "common/base/bytes.h"
#include "common/layout/model_layout.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"
#include "common/wire/value_coding.h"
#include "server/shard/pending.h"

namespace weir::server {

// Takes the answer's values. durable_sequence: of the worker's pushes.
transport::Message AnswerOf(const PendingStep& step, PendingAnswer* pending,
                            uint64_t durable_sequence);

// coding: of rows to be trained on; what is only read goes as it is.
transport::Message RowReplyOf(const PendingRows& rows, const ModelLayout& layout,
                              wire::ValueCoding coding);

// frames: of the section.
transport::Message SectionReplyOf(v1::ModelReply reply, Bytes frames);

}  // namespace weir::server
