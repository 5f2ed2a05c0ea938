#include "engine/kv_tree.h"

#include <algorithm>

namespace foretoken::engine {

using kernels::kPageTokens;

struct KvTree::Node {
  Node* parent = nullptr;
  int32_t page = -1;
  int count = 0;  // tokens in the page; those a running computation adds are counted when appended
  int users = 0;
  uint64_t used = 0;
  bool shared = true;  // false: belongs to one sequence and dies with it
  std::array<TokenId, kPageTokens> tokens{};
  std::vector<std::unique_ptr<Node>> children;
};

namespace {

/// A leaf that diverges late is cut back in place (its tail is a stale guess of what would be
/// typed); one that diverges early may be another buffer's beginning, so it is copied instead.
constexpr int kCutAtMost = kPageTokens / 2;

}  // namespace

KvTree::KvTree(kernels::Stream& stream, kernels::KvPool& pool, int pages)
    : stream_(stream), pool_(pool), total_pages_(pages), root_(std::make_unique<Node>()) {
  free_.reserve(size_t(pages));
  for (int p = pages - 1; p >= 0; --p) free_.push_back(p);
  root_->users = 1;  // never evicted
}

KvTree::~KvTree() {
  // Children are destroyed iteratively: a long chain must not recurse once per page.
  std::vector<std::unique_ptr<Node>> pending;
  pending.push_back(std::move(root_));
  for (auto& n : private_) pending.push_back(std::move(n));
  while (!pending.empty()) {
    std::unique_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    for (auto& child : node->children) pending.push_back(std::move(child));
  }
}

KvTree::Sequence KvTree::acquire(std::span<const TokenId> tokens, int limit, bool reuse) {
  Sequence s;
  s.shared_ = reuse;
  if (!reuse) return s;
  ++clock_;
  const int most = std::min(limit, static_cast<int>(tokens.size()));
  Node* at = root_.get();
  const auto pin = [&](Node* node, int count) {
    ++node->users;
    node->used = clock_;
    s.path_.push_back(node);
    s.pages_.push_back(node->page);
    s.length_ += count;
  };
  while (s.length_ < most) {
    const auto rest = tokens.subspan(size_t(s.length_), size_t(std::min(kPageTokens, most - s.length_)));
    Node* best = nullptr;
    int matched = 0;
    for (const auto& child : at->children) {
      const int n = std::min(child->count, static_cast<int>(rest.size()));
      int same = 0;
      while (same < n && child->tokens[size_t(same)] == rest[size_t(same)]) ++same;
      if (same > matched) matched = same, best = child.get();
    }
    if (best == nullptr) break;
    if (matched == best->count) {  // all of it: hold it; go on below only if it is full
      pin(best, matched);
      at = best;
      if (matched < kPageTokens) break;
      continue;
    }
    if (best->users == 0 && best->children.empty() && best->count - matched <= kCutAtMost) {
      best->count = matched;
      pin(best, matched);
      break;
    }
    // Part of a page: its keys and values are copied to a page of our own.
    ++best->users;  // not to be evicted while room is made
    if (!free_.empty() || evict_one()) {
      Node* copy = add_node(at, true);
      stream_.kv_copy(pool_, best->page, copy->page, matched);
      std::copy_n(best->tokens.begin(), matched, copy->tokens.begin());
      copy->count = matched;
      pin(copy, matched);
    }
    --best->users;
    best->used = clock_;
    break;
  }
  return s;
}

bool KvTree::reserve(Sequence& s, int more) {
  const int needed = (s.length_ + more + kPageTokens - 1) / kPageTokens;
  // The last page may end where another holder's tokens go on: then writing needs a copy.
  if (!s.path_.empty() && s.length_ % kPageTokens != 0 && more > 0) {
    Node* last = s.path_.back();
    const int in_page = s.length_ - (static_cast<int>(s.path_.size()) - 1) * kPageTokens;
    if (in_page > 0 && static_cast<size_t>(s.length_ / kPageTokens) == s.path_.size() - 1 &&
        (last->users > 1 || last->count != in_page || !last->children.empty())) {
      if (free_.empty() && !evict_one()) return false;
      Node* copy = add_node(last->parent, s.shared_);
      stream_.kv_copy(pool_, last->page, copy->page, in_page);
      std::copy_n(last->tokens.begin(), in_page, copy->tokens.begin());
      copy->count = in_page;
      copy->users = 1;
      copy->used = clock_;
      --last->users;
      s.path_.back() = copy;
      s.pages_.back() = copy->page;
    }
  }
  const size_t had = s.path_.size();
  while (static_cast<int>(s.path_.size()) < needed) {
    if (free_.empty() && !evict_one()) {
      while (s.path_.size() > had) {  // give back what this call took
        Node* node = s.path_.back();
        s.path_.pop_back();
        s.pages_.pop_back();
        node->users = 0;
        remove(node);
      }
      return false;
    }
    Node* parent = s.path_.empty() ? (s.shared_ ? root_.get() : nullptr) : s.path_.back();
    Node* node = add_node(parent, s.shared_);
    node->users = 1;
    node->used = clock_;
    s.path_.push_back(node);
    s.pages_.push_back(node->page);
  }
  return true;
}

void KvTree::append(Sequence& s, std::span<const TokenId> tokens) {
  for (const TokenId id : tokens) {
    Node* node = s.path_[size_t(s.length_ / kPageTokens)];
    node->tokens[size_t(node->count++)] = id;
    ++s.length_;
  }
}

void KvTree::release(Sequence&& s) {
  ++clock_;
  for (size_t i = s.path_.size(); i-- > 0;) {
    Node* node = s.path_[i];
    --node->users;
    node->used = clock_;
    // A page reserved and never filled is worth nothing; a private one dies with its sequence.
    if (node->users == 0 && node->children.empty() && (node->count == 0 || !node->shared)) {
      remove(node);
    }
  }
  s.path_.clear();
  s.pages_.clear();
  s.length_ = 0;
}

void KvTree::clear() {
  while (evict_one()) {
  }
}

KvTree::Node* KvTree::add_node(Node* parent, bool shared) {
  auto node = std::make_unique<Node>();
  node->parent = parent;
  node->shared = shared;
  node->page = take_page();
  Node* raw = node.get();
  (parent ? parent->children : private_).push_back(std::move(node));
  return raw;
}

int32_t KvTree::take_page() {
  const int32_t page = free_.back();
  free_.pop_back();
  return page;
}

void KvTree::remove(Node* node) {
  free_.push_back(node->page);
  auto& siblings = node->parent ? node->parent->children : private_;
  const auto it = std::find_if(siblings.begin(), siblings.end(),
                               [node](const auto& n) { return n.get() == node; });
  std::swap(*it, siblings.back());
  siblings.pop_back();
}

bool KvTree::evict_one() {
  // Pools hold some hundred pages: a walk costs microseconds, less than the page it makes room for.
  Node* oldest = nullptr;
  std::vector<Node*> stack{root_.get()};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const auto& child : node->children) stack.push_back(child.get());
    if (node->users == 0 && node->children.empty() && (!oldest || node->used < oldest->used)) {
      oldest = node;
    }
  }
  if (!oldest) return false;
  remove(oldest);
  return true;
}

}  // namespace foretoken::engine
