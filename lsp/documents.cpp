#include "lsp/documents.h"

#include <algorithm>
#include <utility>

#include "lsp/edited_text.h"

namespace foretoken::lsp {
namespace {

std::string dominant_line_end(std::string_view text, const LineIndex& lines) {
  size_t lf = 0, crlf = 0, cr = 0;
  for (size_t line = 1; line < lines.lines(); ++line) {
    const size_t at = lines.start(line);
    if (text[at - 1] == '\r') {
      ++cr;
    } else if (at >= 2 && text[at - 2] == '\r') {
      ++crlf;
    } else {
      ++lf;
    }
  }
  if (crlf > lf && crlf >= cr) return "\r\n";
  return cr > lf ? "\r" : "\n";
}

bool fits(const Range& range, size_t lines) {
  const bool whole = range.start == Position{0, 0} && range.end.line >= lines;
  return whole || (range.start.line <= lines && range.end.line <= lines);
}

}  // namespace

Snapshot::Snapshot(std::string uri, std::string language, int64_t version, std::string text,
                   bool in_sync)
    : uri_(std::move(uri)),
      path_(path_of_uri(uri_)),
      language_(std::move(language)),
      version_(version),
      text_(std::move(text)),
      lines_(text_),
      line_end_(1, '\n'),
      crlf_(text_.find('\r') != std::string::npos),
      in_sync_(in_sync) {
  if (!crlf_) return;
  lf_ = lsp::to_lf(text_);
  lf_lines_ = LineIndex(lf_);
  line_end_ = dominant_line_end(text_, lines_);
}

size_t Snapshot::to_lf_offset(size_t offset) const {
  offset = std::min(offset, text_.size());
  if (!crlf_) return offset;
  const size_t line = lines_.line_of(offset);
  const size_t within = std::min(offset, lines_.content_end(text_, line)) - lines_.start(line);
  return lf_lines_.start(line) + within;
}

void Documents::open(std::string uri, std::string language, int64_t version, std::string text) {
  std::string key = canonical_uri(uri);
  open_[std::move(key)] = std::make_shared<const Snapshot>(std::move(uri), std::move(language),
                                                           version, std::move(text));
}

bool Documents::change(const std::string& uri, int64_t version,
                       const std::vector<ContentChange>& changes) {
  const std::string key = canonical_uri(uri);
  const auto old = find(uri);
  bool in_sync = old != nullptr && old->in_sync();
  const LineIndex no_lines;
  EditedText text(old ? old->text() : std::string_view(), old ? old->lines() : no_lines);
  for (const ContentChange& change : changes) {
    if (!change.range) {
      text = EditedText(change.text, LineIndex(change.text));
      in_sync = true;
    } else if (in_sync) {
      in_sync =
          fits(*change.range, text.lines()) && text.replace(*change.range, encoding_, change.text);
    }
  }
  open_[key] = std::make_shared<const Snapshot>(uri, old ? old->language() : std::string(), version,
                                                text.str(), in_sync);
  return in_sync;
}

void Documents::close(const std::string& uri) {
  open_.erase(canonical_uri(uri));
}

std::shared_ptr<const Snapshot> Documents::find(const std::string& uri) const {
  const auto found = open_.find(canonical_uri(uri));
  return found == open_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const Snapshot>> Documents::all() const {
  std::vector<std::shared_ptr<const Snapshot>> documents;
  documents.reserve(open_.size());
  for (const auto& [key, document] : open_) documents.push_back(document);
  return documents;
}

}  // namespace foretoken::lsp
