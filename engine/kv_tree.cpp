#include "engine/kv_tree.h"

#include <algorithm>

namespace foretoken::engine {

using kernels::kPageTokens;

struct KvTree::Segment {
  Segment* parent = nullptr;
  int first_page = 0;          // position of the first token / 64
  std::vector<int32_t> pages;  // those reserved and not yet filled among them
  std::vector<TokenId> tokens;
  int users = 0;               // sequences that end here
  uint64_t used = 0;
  bool shared = true;          // false: belongs to one sequence and dies with it
  std::vector<std::unique_ptr<Segment>> children;

  int size() const { return static_cast<int>(tokens.size()); }
  int end() const { return first_page * kPageTokens + size(); }
  bool full() const { return tokens.size() == pages.size() * size_t(kPageTokens); }
};

namespace {

/// The longest tail that is cut off; one that parts earlier may be another buffer's beginning.
constexpr int kCutAtMost = kPageTokens / 2;

int pages_for(int tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

}  // namespace

KvTree::KvTree(kernels::Stream& stream, kernels::KvPool& pool, int pages)
    : stream_(stream), pool_(pool), total_pages_(pages), root_(std::make_unique<Segment>()) {
  free_.reserve(size_t(pages));
  for (int p = pages - 1; p >= 0; --p) free_.push_back(p);
  root_->users = 1;  // never evicted
}

KvTree::~KvTree() {
  // Children are destroyed iteratively: a long chain must not recurse once per segment.
  std::vector<std::unique_ptr<Segment>> pending;
  pending.push_back(std::move(root_));
  for (auto& s : private_) pending.push_back(std::move(s));
  while (!pending.empty()) {
    const std::unique_ptr<Segment> segment = std::move(pending.back());
    pending.pop_back();
    for (auto& child : segment->children) pending.push_back(std::move(child));
  }
}

KvTree::Sequence KvTree::acquire(std::span<const TokenId> tokens, int limit, bool reuse,
                                 bool cut) {
  Sequence s;
  s.shared_ = reuse;
  if (!reuse) return s;
  ++clock_;
  const int most = std::min(limit, static_cast<int>(tokens.size()));
  Segment* at = root_.get();
  const auto hold = [&](Segment* segment, int count) {
    s.pages_.insert(s.pages_.end(), segment->pages.begin(), segment->pages.begin() + pages_for(count));
    s.length_ += count;
    at = segment;
  };
  while (s.length_ < most) {
    const auto rest = tokens.subspan(size_t(s.length_), size_t(most - s.length_));
    Segment* best = nullptr;
    int matched = 0;
    for (const auto& child : at->children) {
      const auto end = std::mismatch(child->tokens.begin(), child->tokens.end(), rest.begin(), rest.end());
      const int same = static_cast<int>(end.first - child->tokens.begin());
      if (same > matched) matched = same, best = child.get();
    }
    if (best == nullptr) break;
    if (matched == best->size()) {  // all of it; go on below only where it is full
      hold(best, matched);
      if (!best->full()) break;
      continue;
    }
    if (cut && best->users == 0 && best->children.empty() && best->size() - matched <= kCutAtMost) {
      best->tokens.resize(size_t(matched));
      drop_unfilled(best);
      hold(best, matched);
      break;
    }
    const int whole = matched / kPageTokens, part = matched % kPageTokens;
    if (whole > 0) hold(split(best, whole), whole * kPageTokens);
    if (part > 0) {
      if (Segment* copy = part_with_copy(best, 0, part, /*shared=*/true)) hold(copy, part);
    }
    best->used = clock_;
    break;
  }
  if (at != root_.get()) {
    s.last_ = at;
    ++at->users;
    touch(at);
  }
  return s;
}

/// Cuts a segment above its page number `pages`; returns the upper part. The lower one stays the
/// object it was, so that those who hold it go on holding.
KvTree::Segment* KvTree::split(Segment* segment, int pages) {
  auto upper = std::make_unique<Segment>();
  upper->parent = segment->parent;
  upper->first_page = segment->first_page;
  upper->used = segment->used;
  upper->shared = segment->shared;
  upper->pages.assign(segment->pages.begin(), segment->pages.begin() + pages);
  const auto cut = segment->tokens.begin() + ptrdiff_t(pages) * kPageTokens;
  upper->tokens.assign(segment->tokens.begin(), cut);
  segment->pages.erase(segment->pages.begin(), segment->pages.begin() + pages);
  segment->tokens.erase(segment->tokens.begin(), cut);
  segment->first_page += pages;
  auto& siblings = upper->parent ? upper->parent->children : private_;
  auto& place = *std::find_if(siblings.begin(), siblings.end(),
                              [segment](const auto& s) { return s.get() == segment; });
  segment->parent = upper.get();
  upper->children.push_back(std::move(place));
  place = std::move(upper);
  return place.get();
}

/// A new segment beside (page > 0: inside, after a split) `from` that begins with the first `tokens`
/// tokens of its page number `page`. Null where no page is to be had.
KvTree::Segment* KvTree::part_with_copy(Segment* from, int page, int tokens, bool shared) {
  if (page > 0) split(from, page);
  ++from->users;  // not to be evicted while room is made
  const bool room = !free_.empty() || evict_one();
  --from->users;
  if (!room) return nullptr;
  Segment* copy = add_segment(from->parent, from->first_page, shared);
  add_page(copy);
  stream_.kv_copy(pool_, from->pages.front(), copy->pages.front(), tokens);
  copy->tokens.assign(from->tokens.begin(), from->tokens.begin() + tokens);
  return copy;
}

/// The segment that the sequence may write to behind its length: its own and nobody else's, ending
/// exactly there. Null: no page for the copy it takes.
KvTree::Segment* KvTree::own_end(Sequence& s) {
  Segment* end = s.last_;
  if (end == nullptr) return nullptr;
  // Others may have gone on, and parted from each other, below what this one holds.
  while (end->first_page * kPageTokens >= s.length_ && end->parent && end->parent != root_.get()) {
    end = end->parent;
  }
  if (end == s.last_ && end->end() == s.length_ && end->children.empty() && end->users == 1) return end;
  const int page = s.length_ / kPageTokens - end->first_page, part = s.length_ % kPageTokens;
  Segment* own = nullptr;
  if (part > 0) {
    own = part_with_copy(end, page, part, s.shared_);
    if (own == nullptr) return nullptr;
    s.pages_.back() = own->pages.front();
  } else {
    Segment* parent = end->end() == s.length_ ? end : split(end, page);
    own = add_segment(parent, s.length_ / kPageTokens, s.shared_);
  }
  ++own->users;
  --s.last_->users;
  s.last_ = own;
  touch(own);
  return own;
}

bool KvTree::reserve(Sequence& s, int more) {
  const int needed = pages_for(s.length_ + more);
  if (more <= 0) return true;
  Segment* at = nullptr;
  if (s.last_ == nullptr) {
    at = add_segment(s.shared_ ? root_.get() : nullptr, 0, s.shared_);
    at->users = 1;
    s.last_ = at;
    touch(at);
  } else if (static_cast<int>(s.pages_.size()) > pages_for(s.length_)) {
    at = s.last_;  // reserved before, not yet filled: ours
  } else {
    at = own_end(s);
    if (at == nullptr) return false;
  }
  while (static_cast<int>(s.pages_.size()) < needed) {
    if (static_cast<int>(at->pages.size()) == kSegmentPages) {
      Segment* next = add_segment(at, at->first_page + kSegmentPages, s.shared_);
      ++next->users;
      --at->users;
      s.last_ = at = next;
      touch(at);
    }
    if (!add_page(at)) {  // give back what is reserved and not filled
      Segment* last = s.last_;
      --last->users;
      while (last->size() == 0 && last->parent != nullptr && last->parent != root_.get()) {
        Segment* parent = last->parent;
        drop_unfilled(last);
        remove(last);
        last = parent;
      }
      drop_unfilled(last);
      s.pages_.resize(size_t(pages_for(s.length_)));
      if (last->size() == 0) {
        remove(last);
        s.last_ = nullptr;
      } else {
        ++last->users;
        s.last_ = last;
      }
      return false;
    }
    s.pages_.push_back(at->pages.back());
  }
  return true;
}

void KvTree::append(Sequence& s, std::span<const TokenId> tokens) {
  while (!tokens.empty()) {
    Segment* at = s.last_;
    while (at->first_page * kPageTokens > s.length_) at = at->parent;
    const size_t room = at->pages.size() * size_t(kPageTokens) - at->tokens.size();
    const auto now = tokens.first(std::min(room, tokens.size()));
    at->tokens.insert(at->tokens.end(), now.begin(), now.end());
    s.length_ += static_cast<int>(now.size());
    tokens = tokens.subspan(now.size());
  }
}

void KvTree::release(Sequence&& s) {
  ++clock_;
  if (Segment* last = s.last_) {
    touch(last);
    --last->users;
    // Pages reserved and never filled are worth nothing; private segments die with their sequence.
    while (last != nullptr && last != root_.get() && last->users == 0 && last->children.empty()) {
      Segment* parent = last->parent;
      drop_unfilled(last);
      if (last->size() > 0 && last->shared) break;
      remove(last);
      last = parent;
    }
  }
  s.last_ = nullptr;
  s.pages_.clear();
  s.length_ = 0;
}

void KvTree::clear() {
  while (evict_one()) {
  }
}

KvTree::Segment* KvTree::add_segment(Segment* parent, int first_page, bool shared) {
  auto segment = std::make_unique<Segment>();
  segment->parent = parent;
  segment->first_page = first_page;
  segment->shared = shared;
  segment->used = clock_;
  Segment* raw = segment.get();
  (parent ? parent->children : private_).push_back(std::move(segment));
  return raw;
}

bool KvTree::add_page(Segment* segment) {
  ++segment->users;
  const bool room = !free_.empty() || evict_one();
  --segment->users;
  if (!room) return false;
  segment->pages.push_back(free_.back());
  free_.pop_back();
  return true;
}

void KvTree::drop_unfilled(Segment* segment) {
  while (static_cast<int>(segment->pages.size()) > pages_for(segment->size())) {
    free_.push_back(segment->pages.back());
    segment->pages.pop_back();
  }
}

void KvTree::remove(Segment* segment) {
  free_.insert(free_.end(), segment->pages.rbegin(), segment->pages.rend());
  auto& siblings = segment->parent ? segment->parent->children : private_;
  const auto it = std::find_if(siblings.begin(), siblings.end(),
                               [segment](const auto& s) { return s.get() == segment; });
  std::swap(*it, siblings.back());
  siblings.pop_back();
}

void KvTree::touch(Segment* segment) {
  for (; segment != nullptr; segment = segment->parent) segment->used = clock_;
}

bool KvTree::evict_one() {
  // Pools hold some dozens of segments: a walk costs microseconds, less than the page it makes room for.
  Segment* oldest = nullptr;
  std::vector<Segment*> stack{root_.get()};
  while (!stack.empty()) {
    Segment* segment = stack.back();
    stack.pop_back();
    for (const auto& child : segment->children) stack.push_back(child.get());
    if (segment->users == 0 && segment->children.empty() && (!oldest || segment->used < oldest->used)) {
      oldest = segment;
    }
  }
  if (!oldest) return false;
  remove(oldest);
  ++evicted_;
  return true;
}

}  // namespace foretoken::engine
