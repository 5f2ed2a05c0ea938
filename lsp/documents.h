// Open documents as immutable, versioned snapshots. The store belongs to the front thread; snapshots
// may go anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/text.h"

namespace foretoken::lsp {

/// One version of one document. Immutable.
class Snapshot {
 public:
  Snapshot(std::string uri, std::string language, int64_t version, std::string text, bool in_sync = true);

  const std::string& uri() const { return uri_; }        // as the client spelt it last
  const std::string& path() const { return path_; }      // local path of a file: URI, else ""
  const std::string& language() const { return language_; }
  int64_t version() const { return version_; }
  const std::string& text() const { return text_; }
  const LineIndex& lines() const { return lines_; }
  /// False after an edit whose range did not fit: no completion until the next full text.
  bool in_sync() const { return in_sync_; }

  /// The text with LF line ends (what prompts are made of), and positions in it.
  const std::string& lf() const { return crlf_ ? lf_ : text_; }
  size_t to_lf_offset(size_t offset) const;  // of an offset into text()
  std::string_view line_end() const { return line_end_; }  // most frequent: "\n", "\r\n" or "\r"

 private:
  std::string uri_, path_, language_;
  int64_t version_;
  std::string text_, lf_;
  LineIndex lines_, lf_lines_;  // lf_ and lf_lines_ only where the text holds a \r
  std::string line_end_;
  bool crlf_ = false, in_sync_ = true;
};

/// One element of didChange: a range to replace, or the whole text.
struct ContentChange {
  std::optional<Range> range;
  std::string text;
};

/// Front thread. Keys are URIs in a canonical form (percent-encoding, drive case).
///
/// Which ranges fit: positions are clamped as LSP asks (past a line's end is its end, inside a
/// character its start, the line after the last one is the text's end). What cannot be meant for the
/// text we hold does not fit: a start after its end, or a line further down than that. One exception:
/// a range from 0:0 to anywhere past the end replaces the whole text, so it always fits.
/// Versions are kept, never judged: clients skip, repeat and omit them.
class Documents {
 public:
  explicit Documents(PositionEncoding encoding = PositionEncoding::utf16) : encoding_(encoding) {}
  void set_encoding(PositionEncoding encoding) { encoding_ = encoding; }
  PositionEncoding encoding() const { return encoding_; }

  void open(std::string uri, std::string language, int64_t version, std::string text);  // or replace
  /// Applies the changes in order. An unknown URI or a range that does not fit leaves the document
  /// out of sync (kept, marked) until a change without a range or a new open. Returns in_sync.
  bool change(const std::string& uri, int64_t version, const std::vector<ContentChange>& changes);
  void close(const std::string& uri);
  std::shared_ptr<const Snapshot> find(const std::string& uri) const;  // null: not open
  std::vector<std::shared_ptr<const Snapshot>> all() const;

 private:
  PositionEncoding encoding_;
  std::map<std::string, std::shared_ptr<const Snapshot>> open_;
};

/// "file:///a%20b.py" -> "/a b.py"; "" for other schemes, remote hosts, or undecodable text.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view absolute_path);
std::string canonical_uri(std::string_view uri);

}  // namespace foretoken::lsp
