#include "lsp/completion.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "engine/stop.h"
#include "lsp/answer_json.h"
#include "lsp/engine_loader.h"
#include "lsp/insertion.h"
#include "lsp/model_choice.h"
#include "lsp/suggestions.h"

namespace foretoken::lsp {
namespace {

/// Enough for every stop and insertion rule, whatever the size of the file.
constexpr size_t kNear = 64u << 10;

int default_tokens(const Options& options, engine::Mode mode) {
  switch (mode) {
    case engine::Mode::word: return options.word_tokens;
    case engine::Mode::block: return options.block_tokens;
    default: return options.line_tokens;
  }
}

size_t line_start(std::string_view text, size_t at) {
  if (at == 0) return 0;
  const size_t newline = text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

engine::Mode resolve_mode(engine::Mode wanted, std::string_view text, size_t cursor) {
  if (wanted != engine::Mode::decide) return wanted;
  const std::string_view before = text.substr(0, cursor);
  return engine::decide_mode(before.substr(before.size() - std::min(before.size(), kNear)),
                             text.substr(cursor, kNear));
}

CompletionAnswer answer_raw(const CompletionQuery& query) {
  const size_t at = query.document->to_lf_offset(query.cursor);
  const engine::Mode mode = resolve_mode(query.mode, query.document->lf(), at);
  const std::string& text = query.document->lf();
  const std::string_view before = std::string_view(text).substr(0, at);
  engine::StopRule rule({mode, before.substr(before.size() - std::min(before.size(), kNear)),
                         std::string_view(text).substr(at, kNear)});
  const std::string raw = to_lf(*query.raw);
  const auto met = rule.push(raw);
  const engine::StopRule::Verdict verdict = met ? *met : rule.finish(/*cut_short=*/false);
  CompletionAnswer answer;
  answer.finish = met ? engine::Finish::stop : engine::Finish::eos;
  answer.model = "raw";
  answer.backend = "none";
  finish_answer(*query.document, query.cursor,
                std::string_view(raw).substr(0, std::min(verdict.keep, raw.size())), false, &answer);
  return answer;
}

void finish_answer(const Snapshot& document, size_t cursor, std::string_view raw,
                   bool from_line_start, CompletionAnswer* answer) {
  const std::string_view text = document.lf();
  const size_t at = document.to_lf_offset(cursor);
  const size_t from = from_line_start ? line_start(text, at) : at;
  answer->start = answer->end = cursor;
  Insertion insertion = make_insertion({text.substr(0, from), text.substr(at)}, raw);
  if (insertion.text.empty()) {
    answer->reason = insertion.reason;
    return;
  }
  // Offsets within one line are the same distances in the document as in the LF text.
  size_t left = insertion.drop_before + (at - from);
  const std::string_view typed = text.substr(from, at - from);
  if (!typed.empty() && insertion.drop_before == 0 && insertion.text.starts_with(typed)) {
    insertion.text.erase(0, typed.size());  // the typed indentation was right
    left = 0;
    if (insertion.text.empty()) {
      answer->reason = "blank";
      return;
    }
  }
  answer->start = cursor - left;
  answer->end = cursor + insertion.drop_after;
  answer->text = valid_utf8(insertion.text);
}

std::shared_ptr<Completer> load_completer(const Options& options, std::stop_token stop,
                                          LogLevel level) {
  return std::make_shared<EngineCompleter>(
      open_engine(choose_model(options), options, Share::serve,
                  [level](const std::string& line) { Log(level).warn(line); }, std::move(stop)),
      options);
}

std::optional<Accepted> accept(const Snapshot& document, const CompletionAnswer& answer) {
  if (answer.text.empty()) return std::nullopt;
  const std::string text = with_line_ends(answer.text, document.line_end());
  std::string whole;
  whole.reserve(document.text().size() + text.size());
  whole.append(document.text(), 0, answer.start).append(text).append(document.text(), answer.end);
  return Accepted{std::make_shared<const Snapshot>(document.uri(), document.language(),
                                                   document.version(), std::move(whole)),
                  answer.start + text.size()};
}

/// Kept alive by answers that are still to come. Thread-safe.
struct EngineCompleter::Shared : std::enable_shared_from_this<Shared> {
  Shared(EngineLink& link, const Options& options) : engine(link), options(options) {}

  engine::Request request_for(const CompletionQuery& query) const;
  void finished(const CompletionQuery& query, engine::Priority priority, CompletionAnswer& answer);
  void look_ahead(const CompletionQuery& query, const CompletionAnswer& answer);

  EngineLink& engine;  // answers all it was asked before it ends, so it is there while answers come
  const Options options;
  Suggestions suggestions;
  std::mutex mutex;
  struct Open {
    Ticket ticket = 0;  // 0: not known yet
    uint64_t number;
  };
  std::map<std::string, Open> open;  // under mutex: each document's newest request at the engine
  uint64_t last_number = 0;
};

namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// A completion that was begun for an older request of the document, before its beginning was typed:
/// made fit to be inserted there, then typed through like any suggestion.
void finish_in_flight(const CompletionQuery& query, const engine::Completion& completion,
                      CompletionAnswer* answer) {
  const std::string& now = query.document->lf();
  const size_t at = query.document->to_lf_offset(query.cursor);
  const size_t cursor = at - std::min(at, completion.typed.size());
  std::string then = now.substr(0, cursor);
  then.append(now, std::min(at + completion.closed, now.size()));
  const Snapshot older(query.document->uri(), query.document->language(), 0, std::move(then));
  CompletionAnswer shown;
  finish_answer(older, cursor, completion.text, completion.from_line_start, &shown);
  answer->reason = shown.reason;
  if (shown.text.empty()) return;
  std::optional<CompletionAnswer> rest;
  if (completion.typed.empty()) {
    rest = shown;
    rest->end = query.cursor + (shown.end - cursor);
    rest->start = query.cursor - (cursor - shown.start);
  } else {
    rest = type_through({older.lf(), cursor, shown.start, shown.end, shown.text}, *query.document, query.cursor);
  }
  if (!rest) {
    answer->reason = "already present";
    return;
  }
  answer->text = std::move(rest->text);
  answer->start = rest->start;
  answer->end = rest->end;
}

/// What the engine said, as the answer to `query`.
CompletionAnswer to_answer(const CompletionQuery& query, engine::Completion completion) {
  const auto begun = std::chrono::steady_clock::now();
  CompletionAnswer answer;
  answer.finish = completion.finish;
  answer.source = completion.source;
  answer.cancelled_at = completion.cancelled_at;
  answer.reason = std::move(completion.reason);
  answer.error = std::move(completion.error);
  answer.timings = completion.timings;
  answer.card = std::move(completion.card);
  answer.prompt = std::move(completion.prompt);
  answer.hashes = std::move(completion.hashes);
  answer.start = answer.end = query.cursor;
  if (completion.source == engine::Source::in_flight && answer.error.empty()) {
    finish_in_flight(query, completion, &answer);
  } else if (answer.error.empty() && completion.finish != engine::Finish::cancelled) {
    finish_answer(*query.document, query.cursor, completion.text, completion.from_line_start, &answer);
  } else if (answer.reason.empty()) {
    answer.reason = "cancelled";
  }
  answer.timings.post_ms = ms_since(begun);
  answer.timings.total_ms += answer.timings.post_ms;
  return answer;
}

}  // namespace

engine::Request EngineCompleter::Shared::request_for(const CompletionQuery& query) const {
  const std::shared_ptr<const Snapshot>& document = query.document;
  engine::Request request;
  request.document = canonical_uri(document->uri());
  request.path = query.path;
  request.context = query.context;
  request.text = std::shared_ptr<const std::string>(document, &document->lf());
  request.cursor = document->to_lf_offset(std::min(query.cursor, document->text().size()));
  request.mode = resolve_mode(query.mode, document->lf(), request.cursor);
  request.max_tokens = query.max_tokens > 0 ? query.max_tokens : default_tokens(options, request.mode);
  request.reuse = query.reuse;
  request.healing = options.healing && !options.usual_layout;
  request.usual_layout = options.usual_layout;
  request.want_card = query.want_card;
  request.want_prompt = query.want_prompt;
  request.want_hashes = query.want_hashes;
  return request;
}

/// Books and memory of one answer, before it goes out. Any thread.
void EngineCompleter::Shared::finished(const CompletionQuery& query, engine::Priority priority,
                                       CompletionAnswer& answer) {
  answer.model = engine.model_name();
  answer.backend = engine.backend_name();
  engine.account({answer.source, answer.finish, answer.cancelled_at, priority, answer.reason, answer.timings});
  const bool known = answer.source == engine::Source::cache || answer.source == engine::Source::typed_through;
  if (query.reuse && !known) suggestions.remember(query, answer);
}

/// Has the engine compute what would follow the answer's acceptance, while nobody types.
void EngineCompleter::Shared::look_ahead(const CompletionQuery& query, const CompletionAnswer& answer) {
  if (options.idle_ms == 0 || !query.reuse || answer.source == engine::Source::typed_through) return;
  auto accepted = accept(*query.document, answer);
  if (!accepted) return;
  CompletionQuery next = query;
  next.document = std::move(accepted->document);
  next.cursor = accepted->cursor;
  next.want_card = next.want_prompt = next.want_hashes = false;
  if (suggestions.find(next)) return;
  engine::Request request = request_for(next);
  request.priority = engine::Priority::idle;
  engine.submit(std::move(request), [shared = shared_from_this(), next](engine::Completion completion) {
    CompletionAnswer ahead = to_answer(next, std::move(completion));
    shared->finished(next, engine::Priority::idle, ahead);
  });
}

EngineCompleter::EngineCompleter(std::shared_ptr<EngineLink> engine, const Options& options)
    : engine_(std::move(engine)), shared_(std::make_shared<Shared>(*engine_, options)) {}

Completer::Ticket EngineCompleter::start(CompletionQuery query, Done done) {
  const auto begun = std::chrono::steady_clock::now();
  query.cursor = std::min(query.cursor, query.document->text().size());
  if (query.raw) {
    done(answer_raw(query));
    return 0;
  }
  const std::string document = canonical_uri(query.document->uri());
  const bool may_be_known = query.reuse && !query.from_engine && !query.want_card &&
                            !query.want_prompt && !query.want_hashes;
  if (may_be_known) {
    if (auto known = shared_->suggestions.find(query)) {
      // The engine hears of it, and of the older request of the document that this one supersedes.
      Ticket older = 0;
      {
        const std::lock_guard lock(shared_->mutex);
        if (const auto it = shared_->open.find(document); it != shared_->open.end()) {
          older = it->second.ticket;
        }
      }
      if (older != 0) engine_->cancel(older);
      engine_->observe(shared_->request_for(query));
      known->timings.post_ms = known->timings.total_ms = ms_since(begun);
      shared_->finished(query, engine::Priority::typing, *known);
      const CompletionAnswer answer = *known;
      done(*std::move(known));
      shared_->look_ahead(query, answer);
      return 0;
    }
  }
  uint64_t number = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    number = ++shared_->last_number;
    shared_->open[document] = {0, number};
  }
  const auto newest = [](Shared& shared, const std::string& document, uint64_t number) {
    const auto it = shared.open.find(document);
    return it != shared.open.end() && it->second.number == number ? it : shared.open.end();
  };
  const Ticket ticket = engine_->submit(
      shared_->request_for(query), [query, document, number, newest, done = std::move(done),
                                    shared = shared_](engine::Completion completion) {
        {
          const std::lock_guard lock(shared->mutex);
          const auto it = newest(*shared, document, number);
          if (it != shared->open.end()) shared->open.erase(it);
        }
        CompletionAnswer answer = to_answer(query, std::move(completion));
        shared->finished(query, engine::Priority::typing, answer);
        const CompletionAnswer given = answer;
        done(std::move(answer));
        if (given.error.empty() && given.finish != engine::Finish::cancelled) {
          shared->look_ahead(query, given);
        }
      });
  const std::lock_guard lock(shared_->mutex);
  const auto it = newest(*shared_, document, number);
  if (it != shared_->open.end()) it->second.ticket = ticket;
  return ticket;
}

void EngineCompleter::cancel(Ticket ticket) { engine_->cancel(ticket); }

}  // namespace foretoken::lsp
