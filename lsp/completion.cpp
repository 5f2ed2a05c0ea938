#include "lsp/completion.h"

#include <algorithm>

#include "engine/stop.h"
#include "lsp/engine_loader.h"
#include "lsp/insertion.h"
#include "lsp/model_choice.h"

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

std::shared_ptr<Completer> load_completer(const Options& options, std::stop_token) {
  return std::make_shared<EngineCompleter>(load_engine(choose_model(options), options), options);
}

EngineCompleter::EngineCompleter(std::shared_ptr<EngineLink> engine, const Options& options)
    : engine_(std::move(engine)), options_(options) {}

Completer::Ticket EngineCompleter::start(CompletionQuery query, Done done) {
  const std::shared_ptr<const Snapshot> document = query.document;
  const size_t at = document->to_lf_offset(std::min(query.cursor, document->text().size()));
  const engine::Mode mode = resolve_mode(query.mode, document->lf(), at);
  if (query.raw) {
    done(answer_raw(query));
    return 0;
  }

  engine::Request request;
  request.document = canonical_uri(document->uri());
  request.path = query.path;
  request.text = std::shared_ptr<const std::string>(document, &document->lf());
  request.cursor = at;
  request.mode = mode;
  request.max_tokens = query.max_tokens > 0 ? query.max_tokens : default_tokens(options_, mode);
  request.reuse = query.reuse;
  request.healing = options_.healing && !options_.usual_layout;
  request.usual_layout = options_.usual_layout;
  request.want_card = query.want_card;
  request.want_prompt = query.want_prompt;

  return engine_->submit(
      std::move(request), [document, cursor = query.cursor, done = std::move(done),
                           engine = engine_.get()](engine::Completion completion) {
        CompletionAnswer answer;
        answer.finish = completion.finish;
        answer.reason = completion.reason;
        answer.error = completion.error;
        answer.timings = completion.timings;
        answer.card = std::move(completion.card);
        answer.prompt = std::move(completion.prompt);
        answer.model = engine->model_name();
        answer.backend = engine->backend_name();
        answer.start = answer.end = cursor;
        if (answer.error.empty() && completion.finish != engine::Finish::cancelled) {
          finish_answer(*document, cursor, completion.text, completion.from_line_start, &answer);
        } else if (answer.reason.empty()) {
          answer.reason = "cancelled";
        }
        done(std::move(answer));
      });
}

void EngineCompleter::cancel(Ticket ticket) { engine_->cancel(ticket); }

}  // namespace foretoken::lsp
