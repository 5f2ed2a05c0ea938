// The text of a document travels once; after that, what changed since the last one. Both ends of a
// connection keep the same last texts and forget the same ones.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace foretoken::lsp {

/// A text, told by how much of the one before it stays at either end. base 0: there was none.
struct TextChange {
  uint64_t base = 0;  // number of the text that this one changes
  uint64_t before = 0, after = 0;
  std::string middle;
};

/// The last text of each document, as sent or as received. A text is remembered in the order in which
/// it travels, and the limits are the same at both ends, so the ends agree without asking. Belongs to
/// one thread.
class TextMemory {
 public:
  using Text = std::shared_ptr<const std::string>;
  struct Limits {
    size_t documents = 32;
    size_t bytes = 64u << 20;    // all texts together; the newest is kept whatever its size
    size_t longest = 64u << 20;  // one text, as the server's largest message
  };
  TextMemory() = default;
  explicit TextMemory(Limits limits) : limits_(limits) {}

  /// The sender: what to say of `text`. It is remembered.
  TextChange change_to(const std::string& document, const Text& text);
  /// The receiver: the text again, remembered; null and `fault` where the change fits nothing here.
  Text apply(const std::string& document, const TextChange& change, std::string* fault);

  size_t bytes() const { return bytes_; }
  size_t documents() const { return entries_.size(); }

 private:
  struct Entry {
    Text text;
    uint64_t number;
    std::list<std::string>::iterator place;
  };
  const Entry* last(const std::string& document) const;
  void remember(const std::string& document, const Text& text);

  Limits limits_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> order_;  // least lately used first
  uint64_t numbers_ = 0;
  size_t bytes_ = 0;
};

}  // namespace foretoken::lsp
