// One document of a typing script: the state of a text that is being typed again, and the next key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/typing_script.h"

namespace foretoken::lsp {

/// A value. The document is at every time: the region's text so far, `extra_`, the cursor, the closers
/// that the editor added, the text behind the region.
class Typist {
 public:
  /// `region` outlives the typist.
  explicit Typist(const TypedRegion& region);

  std::string text_at_outset() const;
  size_t cursor() const { return at_ + extra_.size(); }
  bool done() const { return at_ == region_.end && extra_.empty() && closers_.empty(); }

  /// The key that brings the document nearer to the file. Not when done().
  Key next();
  /// A letter that does not belong here; next() takes it back.
  Key wrong_letter();
  /// The rest of the line at once. Only where can_accept().
  Key accept();

  bool can_accept() const;       // text of the line is left, and nothing wrong stands before it
  bool after_letter() const;     // a place where fingers slip
  size_t typed_in_line() const;  // bytes of the line so far, blanks at its start not counted

 private:
  struct Closer {
    size_t at;         // offset in the file where it is due
    std::string text;  // with the line end and indentation in front where it has a line of its own
  };

  std::string_view file() const { return region_.text; }
  size_t line_end_bytes(size_t at) const;  // 0: no line end there
  size_t line_end(size_t at) const;
  size_t line_start(size_t at) const;
  std::string_view indentation(size_t line) const;
  bool closes_here() const;
  Key edit(KeyKind kind, size_t erased_left, size_t erased_right, std::string left, std::string right);
  Key line_break();
  Key take_back();
  void find_pairs();

  const TypedRegion& region_;
  std::vector<size_t> closer_of_;  // per byte of the region: where its closer stands; 0: none
  std::string unit_;               // one level of indentation
  size_t at_;                      // the file is right up to here
  std::string extra_;              // left of the cursor, and not in the file
  std::string last_indent_;        // what the editor would indent an empty line with
  std::vector<Closer> closers_;    // the last one is next to the cursor
};

}  // namespace foretoken::lsp
