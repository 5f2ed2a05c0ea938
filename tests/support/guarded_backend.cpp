#include "tests/support/guarded_backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <new>

#include "kernels/cpu/reference/reference.h"

namespace foretoken::test {
namespace {

using namespace foretoken::kernels;

// All memory of one backend, locked and unlocked together.
class Vault {
 public:
  HostMemory allocate(const std::shared_ptr<Vault>& self, size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const size_t length = (bytes + page) / page * page;  // at least one byte of padding
    void* p = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    regions_[p] = length;
    if (open_ > 0) mprotect(p, length, PROT_READ | PROT_WRITE);
    return {static_cast<std::byte*>(p), [self](std::byte* m) { self->free(m); }};
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) protect(PROT_NONE);
  }

 private:
  void free(std::byte* m) {
    const std::lock_guard lock(mutex_);
    const auto it = regions_.find(m);
    munmap(m, it->second);
    regions_.erase(it);
  }

  void protect(int how) {
    for (const auto& [p, length] : regions_) mprotect(p, length, how);
  }

  std::mutex mutex_;
  std::map<void*, size_t> regions_;
  int open_ = 0;
};

class Opened {
 public:
  explicit Opened(Vault& vault) : vault_(vault) { vault_.open(); }
  ~Opened() { vault_.close(); }
  Opened(const Opened&) = delete;

 private:
  Vault& vault_;
};

class GuardedStream : public Stream {
 public:
  GuardedStream(std::unique_ptr<Stream> inner, std::shared_ptr<Vault> vault)
      : inner_(std::move(inner)), vault_(std::move(vault)) {}

  void upload(std::span<const float> from, Matrix to) override {
    const Opened o(*vault_);
    inner_->upload(from, to);
  }
  void download(Matrix from, std::span<float> to) override {
    const Opened o(*vault_);
    inner_->download(from, to);
  }
  void synchronize() override { inner_->synchronize(); }
  void embed(const Weight& w, std::span<const int32_t> ids, Matrix out) override {
    const Opened o(*vault_);
    inner_->embed(w, ids, out);
  }
  void rms_norm(Matrix x, Matrix gain, float eps, Matrix out) override {
    const Opened o(*vault_);
    inner_->rms_norm(x, gain, eps, out);
  }
  void matmul(Matrix x, const Weight& w, const Matrix* bias, bool accumulate, Matrix out) override {
    const Opened o(*vault_);
    inner_->matmul(x, w, bias, accumulate, out);
  }
  void silu_mul(Matrix gate, Matrix up, Matrix out) override {
    const Opened o(*vault_);
    inner_->silu_mul(gate, up, out);
  }
  void rope(Matrix x, Matrix cos, Matrix sin, int head_dim, int n_rot, bool neox) override {
    const Opened o(*vault_);
    inner_->rope(x, cos, sin, head_dim, n_rot, neox);
  }
  void kv_store(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix k,
                Matrix v) override {
    const Opened o(*vault_);
    inner_->kv_store(pool, layer, pages, first, k, v);
  }
  void attention(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix q,
                 float scale, Matrix out) override {
    const Opened o(*vault_);
    inner_->attention(pool, layer, pages, first, q, scale, out);
  }
  void kv_copy(KvPool& pool, int32_t from, int32_t to, int tokens) override {
    const Opened o(*vault_);
    inner_->kv_copy(pool, from, to, tokens);
  }
  void select(Matrix logits, std::span<const uint8_t> banned, std::span<const int32_t> only, int k,
              Selection* out) override {
    const Opened o(*vault_);
    inner_->select(logits, banned, only, k, out);
  }

 private:
  std::unique_ptr<Stream> inner_;
  std::shared_ptr<Vault> vault_;
};

class GuardedBackend : public Backend {
 public:
  GuardedBackend()
      : inner_(make_reference_backend(
            [vault = vault_](size_t bytes) { return vault->allocate(vault, bytes); })) {}
  std::string_view name() const override { return "guarded"; }
  int threads() const override { return 1; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override { return inner_->allocate(bytes); }
  std::unique_ptr<Weight> load_weight(const WeightSource& source) override {
    const Opened o(*vault_);
    return inner_->load_weight(source);
  }
  std::unique_ptr<KvPool> make_kv(const KvShape& shape) override { return inner_->make_kv(shape); }
  size_t kv_bytes_per_page(const KvShape& shape) const override {
    return inner_->kv_bytes_per_page(shape);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<GuardedStream>(inner_->make_stream(), vault_);
  }

 private:
  std::shared_ptr<Vault> vault_ = std::make_shared<Vault>();
  std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> make_guarded_backend() {
  return std::make_unique<GuardedBackend>();
}

}  // namespace foretoken::test
