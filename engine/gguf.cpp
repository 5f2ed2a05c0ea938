#include "engine/gguf.h"

#include "engine/gguf_header.h"
#include "engine/gguf_stream.h"

namespace foretoken::engine {

struct GgufFile::Impl {
  explicit Impl(const std::string& path) : stream(path), header(stream) { stream.finish(); }

  GgufStream stream;
  GgufHeader header;
};

GgufFile::GgufFile(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const {
  return impl_->stream.path();
}
uint64_t GgufFile::file_bytes() const {
  return impl_->stream.file_bytes();
}
uint32_t GgufFile::version() const {
  return impl_->header.version();
}
std::span<const GgufTensor> GgufFile::tensors() const {
  return impl_->header.tensors();
}

const GgufValue* GgufFile::find(std::string_view key) const {
  return impl_->header.value(key);
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  return impl_->header.tensor(name);
}

std::vector<std::string_view> GgufFile::keys() const {
  std::vector<std::string_view> keys;
  keys.reserve(impl_->header.values().size());
  for (const auto& [key, value] : impl_->header.values()) keys.push_back(key);
  return keys;
}

namespace {

[[noreturn]] void wrong_type(const GgufFile& file, std::string_view key, const GgufValue& value,
                             std::string_view wanted) {
  file.fail("the value is " + std::string(held_type(value)) + ", not " + std::string(wanted) +
            " (field " + printable(key) + ")");
}

}  // namespace

std::optional<uint64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* u = std::get_if<uint64_t>(value)) return *u;
  const auto* i = std::get_if<int64_t>(value);
  if (i == nullptr) wrong_type(*this, key, *value, "an integer");
  if (*i < 0)
    fail("the value is " + std::to_string(*i) + ", below 0 (field " + printable(key) + ")");
  return uint64_t(*i);
}

std::optional<double> GgufFile::real(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* d = std::get_if<double>(value)) return *d;
  wrong_type(*this, key, *value, "a float");
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* b = std::get_if<bool>(value)) return *b;
  wrong_type(*this, key, *value, "a bool");
}

std::optional<std::string_view> GgufFile::string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* s = std::get_if<std::string_view>(value)) return *s;
  wrong_type(*this, key, *value, "a string");
}

const GgufArray* GgufFile::array(std::string_view key, uint32_t element_type) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* a = std::get_if<GgufArray>(value);
  if (a == nullptr) wrong_type(*this, key, *value, "an array");
  if (a->type != element_type) {
    fail("the array's elements are " + std::string(gguf_value_type_name(a->type)) + ", not " +
         std::string(gguf_value_type_name(element_type)) + " (field " + printable(key) + ")");
  }
  return a;
}

void GgufFile::read(const GgufTensor& t, uint64_t from, std::span<std::byte> to) const {
  if (from > t.bytes || to.size() > t.bytes - from) {
    fail("a read of " + std::to_string(to.size()) + " bytes from byte " + std::to_string(from) +
         " goes past the tensor's " + std::to_string(t.bytes) + " (field " + printable(t.name) +
         ")");
  }
  impl_->stream.read_at(t.offset + from, to, t.name);
}

void GgufFile::fail(std::string_view what) const {
  std::string message = printable(path(), 4096) + ": " + std::string(what);
  if (what.find(';') == std::string_view::npos)
    message += "; the model file is damaged or unsuitable: get it again or choose another";
  throw ModelError(message);
}

}  // namespace foretoken::engine
