// One end of a connection between processes that share an engine: frames and bytes below, messages
// above. Both ends use it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lsp/fd.h"
#include "lsp/loop.h"
#include "lsp/share_messages.h"
#include "lsp/share_texts.h"
#include "lsp/transport.h"

namespace foretoken::lsp {

/// Front thread of its loop, whichever that is; it may also be destroyed where that loop has ended.
class ShareConnection {
 public:
  struct Handlers {
    std::function<void(share::Message)> message;
    /// Once; nothing follows. `fault`: what the peer sent that it may not, "" at a plain end.
    std::function<void(std::string fault)> ended;
  };
  /// `outbox`: past its `stop_above` the peer is not read until it reads.
  ShareConnection(Fd socket, std::shared_ptr<Loop> loop, Handlers handlers, OutboxLimits outbox = {});
  ~ShareConnection();
  ShareConnection(const ShareConnection&) = delete;

  /// Whole texts in requests; what travels is what changed.
  void send(share::Message message);
  size_t waiting_bytes() const { return transport_.outbox().bytes(); }
  /// What waits is written first, for at most `patience`.
  void close(std::chrono::milliseconds patience) { transport_.close(patience); }

 private:
  void receive(std::string_view body);
  void end(std::string fault);

  Handlers handlers_;
  TextMemory sent_, received_;
  bool ended_ = false;
  std::shared_ptr<ShareConnection*> self_;  // what the transport posted may come later than we end
  FdTransport transport_;
};

}  // namespace foretoken::lsp
