#include "tools/bench/large_messages.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"
#include "common/session/body.h"
#include "common/transport/zmq_transport.h"
#include "common/wire/piece_frame.h"
#include "tools/bench/measure.h"
#include "tools/bench/message_ends.h"

namespace weir::bench {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kUsualBytes = 16 * kMebibyte;
// Of each measurement, whatever the size of a message.
constexpr size_t kBytesInAll = 768 * kMebibyte;
constexpr int64_t kWindow = 2;

struct Large {
  const char* name;
  size_t bytes;
};
constexpr Large kLarge[] = {{"64M", 64 * kMebibyte}, {"128M", 128 * kMebibyte}};

double ProcessorSeconds() {
  rusage use = {};
  CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Pieces of a gradient that is sent whole.
class Pieces {
 public:
  Pieces() : gradient_(static_cast<size_t>(kStripeElements)) {
    RandomStream random(1);
    for (float& value : gradient_) value = static_cast<float>(random.NextNormal());
  }

  // At least so many bytes.
  transport::Message Make(size_t byte_count) {
    session::BodyWriter body(byte_count);
    for (uint32_t piece = 0; body.byte_count() < byte_count; ++piece) {
      writer_.Open(body.Next(), wire::FrameKind::kGradient, piece, 0, wire::ValueCoding::kF32);
      for (uint32_t i = 0; i < kPieceStripes; ++i) writer_.AppendDense(i, gradient_);
      writer_.Finish();
    }
    transport::Message message;
    message.parts.emplace_back(Bytes(32));
    body.MoveTo(&message.parts);
    return message;
  }

 private:
  std::vector<float> gradient_;
  wire::PieceFrameWriter writer_;
};

// That every frame has arrived as it was sent, as its checksum tells.
Status Read(const transport::Message& message, size_t byte_count) {
  session::BodyReader reader(message);
  size_t read_bytes = 0;
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    read_bytes += frame.frame_bytes();
  }
  if (read_bytes >= byte_count) return OkStatus();
  return Internal(StrCat("a message of ", byte_count, " bytes arrived as one of ", read_bytes));
}

class LargeMessages {
 public:
  Status Open() {
    transport::Limits limits;
    limits.max_stranger_bytes = limits.max_message_bytes;
    server_ = transport::MakeZmqServerTransport(limits);
    WEIR_ASSIGN_OR_RETURN(const std::string address, server_->Bind("tcp://127.0.0.1:0"));
    client_ = transport::MakeZmqClientTransport({});
    WEIR_ASSIGN_OR_RETURN(connection_, client_->Open(address));
    return OkStatus();
  }

  Status Exchange(size_t byte_count, int64_t count) {
    Status served;
    std::thread server([&] { served = Serve(byte_count, count); });
    const Status sent = Send(byte_count, count);
    server.join();
    return served.ok() ? sent : served;
  }

 private:
  Status Serve(size_t byte_count, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto incoming = server_->Receive(kGiveUpMs);
      if (!incoming) return DeadlineExceeded(StrCat("message ", i, " has not arrived"));
      WEIR_RETURN_IF_ERROR(Read(incoming->message, byte_count));
      WEIR_RETURN_IF_ERROR(server_->Send(incoming->peer, {{transport::Part(Bytes(32))}}));
    }
    return OkStatus();
  }
  Status Send(size_t byte_count, int64_t count) {
    for (int64_t reply = 0, sent = 0; reply < count; ++reply) {
      for (; sent < std::min(count, reply + kWindow); ++sent) {
        WEIR_RETURN_IF_ERROR(client_->Send(connection_, pieces_.Make(byte_count)));
      }
      if (!client_->Receive(kGiveUpMs)) return DeadlineExceeded(StrCat("no reply ", reply));
    }
    return OkStatus();
  }

  Pieces pieces_;
  std::unique_ptr<transport::ServerTransport> server_;
  std::unique_ptr<transport::ClientTransport> client_;
  transport::ConnectionId connection_ = 0;
};

Result<double> SecondsPerGigabyte(size_t byte_count, bool quick) {
  LargeMessages ends;
  WEIR_RETURN_IF_ERROR(ends.Open());
  WEIR_RETURN_IF_ERROR(ends.Exchange(byte_count, 2 * kWindow));
  const auto count = quick ? kWindow : static_cast<int64_t>(kBytesInAll / byte_count);
  const double begin = ProcessorSeconds();
  WEIR_RETURN_IF_ERROR(ends.Exchange(byte_count, count));
  return (ProcessorSeconds() - begin) * 1e9 /
         (static_cast<double>(count) * static_cast<double>(byte_count));
}

}  // namespace

Result<Lines> MeasureLargeMessages(const Options& options) {
  Lines lines;
  const std::span<const Large> sizes(kLarge);
  for (const Large& large : options.quick ? sizes.first(1) : sizes) {
    std::vector<double> of_large, of_usual;
    for (int turn = 0; turn < options.repeats; ++turn) {
      WEIR_ASSIGN_OR_RETURN(of_large.emplace_back(),
                            SecondsPerGigabyte(large.bytes, options.quick));
      WEIR_ASSIGN_OR_RETURN(of_usual.emplace_back(),
                            SecondsPerGigabyte(kUsualBytes, options.quick));
    }
    lines.push_back({.name = StrCat("transport/processor_time/", large.name),
                     .value = Median(of_large),
                     .unit = "s/GB",
                     .peer = "messages of 16 MiB",
                     .peer_value = Median(of_usual),
                     .goal = 1 / 1.2,
                     .better = Better::kLess});
  }
  return lines;
}

}  // namespace weir::bench
