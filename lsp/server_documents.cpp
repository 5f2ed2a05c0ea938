// The server's methods about documents, completion, and the server itself.
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "lsp/memory.h"
#include "lsp/server.h"
#include "lsp/sha256.h"

namespace foretoken::lsp {
namespace {

/// Accepting an item twice is one acceptance; how many are remembered.
constexpr size_t kRemembered = 64;

std::string sha256_hex(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.hex();
}

uint64_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

void Server::did_open(const Value& params) {
  auto parsed = parse_did_open(params);
  DocumentOpened* opened = expect(parsed, "textDocument/didOpen");
  if (opened == nullptr) return;
  documents_.open(std::move(opened->uri), std::move(opened->language), opened->version,
                  std::move(opened->text));
}

void Server::did_change(const Value& params) {
  auto parsed = parse_did_change(params);
  DocumentChanged* changed = expect(parsed, "textDocument/didChange");
  if (changed == nullptr) {
    // An edit we could not read has happened all the same: what we hold is no longer the client's
    // text.
    const std::string uri = salvage_document_uri(params);
    const ContentChange unfit{Range{{1, 0}, {0, 0}}, ""};
    if (const auto document = documents_.find(uri))
      documents_.change(uri, document->version(), {unfit});
    return;
  }
  if (!documents_.change(changed->uri, changed->version, changed->changes)) {
    log_.warn("a change does not fit the document; it waits for its full text");
  }
}

void Server::did_close(const Value& params) {
  auto parsed = parse_document_uri(params);
  const std::string* uri = expect(parsed, "textDocument/didClose");
  if (uri == nullptr) return;
  completions_.document_closed(*uri);
  documents_.close(*uri);
}

void Server::did_save(const Value& params) {
  auto parsed = parse_did_save(params);
  DocumentSaved* saved = expect(parsed, "textDocument/didSave");
  if (saved == nullptr) return;
  const auto document = documents_.find(saved->uri);
  if (!document) return;
  // A document that an edit put out of sync is whole again once it is saved: the disk has its text.
  if (!saved->text && !document->in_sync()) saved->text = workspace_.read_file(saved->uri);
  if (!saved->text) return;
  documents_.change(saved->uri, document->version(),
                    {ContentChange{std::nullopt, std::move(*saved->text)}});
}

void Server::inline_completion(Reply reply, const Value& params) {
  auto parsed = parse_inline_completion(params);
  const InlineCompletionParams* asked = expect(parsed, reply);
  if (asked == nullptr) return;
  completions_.ask(std::move(reply), *asked, document_to_complete(asked->uri),
                   workspace_.shown_path(asked->uri), settings_);
}

std::shared_ptr<const Snapshot> Server::document_to_complete(const std::string& uri) const {
  if (auto open = documents_.find(uri)) return open;
  auto text = workspace_.read_file(uri);
  return text ? std::make_shared<const Snapshot>(uri, "", 0, std::move(*text)) : nullptr;
}

void Server::execute_command(Reply reply, const Value& params) {
  auto parsed = parse_execute_command(params);
  const Command* command = expect(parsed, reply);
  if (command == nullptr) return;
  if (command->name != kAcceptCommand) {
    return std::move(reply).error(ErrorCode::invalid_params, "command: not one of this server's");
  }
  accepted(command->item);
  std::move(reply).null();
}

void Server::command_sent(const Value& params) {
  auto parsed = parse_execute_command(params);
  const Command* command = expect(parsed, "workspace/executeCommand");
  if (command != nullptr && command->name == kAcceptCommand) accepted(command->item);
}

void Server::accepted(const std::string& item) {
  const auto& seen = recently_accepted_;
  if (item.empty() || item.size() > 100 || std::find(seen.begin(), seen.end(), item) != seen.end())
    return;
  recently_accepted_.push_back(item);
  if (recently_accepted_.size() > kRemembered) recently_accepted_.pop_front();
  ++counts_.accepted;
}

void Server::did_show(const Value& params) {
  auto parsed = parse_shown_item(params);
  if (expect(parsed, "textDocument/didShowCompletion") != nullptr) ++counts_.shown;
}

void Server::did_accept_part(const Value& params) {
  auto parsed = parse_shown_item(params);
  if (expect(parsed, "textDocument/didPartiallyAcceptCompletion") != nullptr)
    ++counts_.partly_accepted;
}

void Server::document_hash(Reply reply, const Value& params) {
  auto parsed = parse_uri(params);
  const std::string* uri = expect(parsed, reply);
  if (uri == nullptr) return;
  const auto document = documents_.find(*uri);
  if (!document) return std::move(reply).null();
  std::move(reply).result(document_hash_payload(sha256_hex(document->text()), *document));
}

void Server::memory(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  std::move(reply).result(memory_payload(resident_bytes(), heap_bytes()));
}

void Server::status(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  ServerStatus status = counts_;
  completions_.fill(&status);
  status.open_documents = documents_.all().size();
  std::move(reply).result(status_payload(status));
}

}  // namespace foretoken::lsp
