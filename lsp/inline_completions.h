// Inline completion requests from arrival to answer. What every request is promised:
//   - one answer, whatever happens: an item list, null, or -32800 where the client cancelled;
//   - the newest request of a document wins: an older one is answered null at once, because not
//   every
//     client cancels while the user types, and one of them shows whatever arrives last;
//   - never an error for a model that is loading, failed or has nothing to say: clients show those
//   to
//     the user at every keystroke.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lsp/completer.h"
#include "lsp/inline_item.h"
#include "lsp/jsonrpc.h"
#include "lsp/log.h"
#include "lsp/loop.h"
#include "lsp/protocol.h"

namespace foretoken::lsp {

/// Front thread.
class InlineCompletions {
 public:
  /// How long a request waits for a model that is still loading. Longer than that the user has
  /// moved on.
  static constexpr std::chrono::milliseconds kModelPatience{2000};

  InlineCompletions(std::shared_ptr<Loop> loop, const Documents& documents, const Log& log);
  ~InlineCompletions();

  /// `document`: what to complete, null where there is nothing. `path`: as the prompt shows it.
  void ask(Reply reply, const InlineCompletionParams& params,
           std::shared_ptr<const Snapshot> document, std::string path, const Settings& settings);
  bool has(const RequestId& id) const { return by_id_.contains(id); }
  void cancel(const RequestId& id);  // unknown and answered ids are ignored
  void document_closed(const std::string& uri);
  /// Answers everything that waits with null: the client is about to leave.
  void drop_all();

  void model_ready(std::shared_ptr<Completer> completer);
  void model_failed();

  /// Counts of requests; the rest of the status is the server's.
  void fill(ServerStatus* status) const;

 private:
  struct Pending {
    Reply reply;
    InlineQuestion question;
    std::shared_ptr<const Snapshot> asked_about;  // as it was; null: not an open document
    std::string topic;                            // canonical URI
    CompletionQuery query;
    std::optional<Completer::Ticket> ticket;  // once started
    std::optional<Loop::TimerId> timer;       // while waiting for the model
  };
  using Number = uint64_t;
  enum class Model : uint8_t { loading, ready, failed };

  void start(Number number);
  void finish(Number number, CompletionAnswer answer);
  bool is_stale(const Pending& pending) const;
  std::optional<Completer::Ticket> supersede(const std::string& topic);
  Pending take(Number number);
  void answer(Pending pending, const std::vector<InlineItem>& items);

  const std::shared_ptr<Loop> loop_;
  const Documents& documents_;
  const Log& log_;
  std::shared_ptr<Completer> completer_;
  Model model_ = Model::loading;

  std::map<Number, Pending> pending_;
  std::map<RequestId, Number> by_id_;
  std::map<std::string, Number> by_topic_;
  Number last_number_ = 0;
  uint64_t last_item_ = 0;
  ServerStatus counts_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();  // posted work checks it
};

}  // namespace foretoken::lsp
