#include "lsp/share_texts.h"

#include <algorithm>

namespace foretoken::lsp {

const TextMemory::Entry* TextMemory::last(const std::string& document) const {
  const auto found = entries_.find(document);
  return found == entries_.end() ? nullptr : &found->second;
}

TextChange TextMemory::change_to(const std::string& document, const Text& text) {
  TextChange change;
  const Entry* old = last(document);
  if (old == nullptr) {
    change.middle = *text;
  } else {
    const std::string &was = *old->text, &is = *text;
    const size_t shorter = std::min(was.size(), is.size());
    const size_t before = static_cast<size_t>(
        std::mismatch(was.begin(), was.begin() + static_cast<ptrdiff_t>(shorter), is.begin()).first -
        was.begin());
    const size_t after = static_cast<size_t>(
        std::mismatch(was.rbegin(), was.rbegin() + static_cast<ptrdiff_t>(shorter - before),
                      is.rbegin())
            .first -
        was.rbegin());
    change = {old->number, before, after, is.substr(before, is.size() - before - after)};
  }
  remember(document, text);
  return change;
}

TextMemory::Text TextMemory::apply(const std::string& document, const TextChange& change,
                                   std::string* fault) {
  const Entry* old = last(document);
  const uint64_t base = old == nullptr ? 0 : old->number;
  const size_t length = old == nullptr ? 0 : old->text->size();
  if (change.base != base) {
    *fault = "a text is told as a change of one that is not here";
    return nullptr;
  }
  if (change.before > length || change.after > length - change.before) {
    *fault = "a text keeps more of the one before it than there was";
    return nullptr;
  }
  const size_t kept = static_cast<size_t>(change.before + change.after);
  if (kept > limits_.longest || change.middle.size() > limits_.longest - kept) {
    *fault = "a text is longer than " + std::to_string(limits_.longest) + " bytes";
    return nullptr;
  }
  auto text = std::make_shared<std::string>();
  text->reserve(kept + change.middle.size());
  if (old != nullptr) text->append(*old->text, 0, static_cast<size_t>(change.before));
  text->append(change.middle);
  if (old != nullptr) text->append(*old->text, length - static_cast<size_t>(change.after));
  remember(document, text);
  return text;
}

void TextMemory::remember(const std::string& document, const Text& text) {
  const auto [found, fresh] = entries_.try_emplace(document);
  Entry& entry = found->second;
  if (fresh) {
    entry.place = order_.insert(order_.end(), document);
  } else {
    bytes_ -= entry.text->size();
    order_.splice(order_.end(), order_, entry.place);
  }
  entry.text = text;
  entry.number = ++numbers_;
  bytes_ += text->size();
  while (order_.size() > 1 && (order_.size() > limits_.documents || bytes_ > limits_.bytes)) {
    const auto oldest = entries_.find(order_.front());
    bytes_ -= oldest->second.text->size();
    entries_.erase(oldest);
    order_.pop_front();
  }
}

}  // namespace foretoken::lsp
