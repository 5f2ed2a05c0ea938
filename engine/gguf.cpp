#include "engine/gguf.h"

#include <algorithm>
#include <numeric>

#include "engine/gguf_stream.h"
#include "kernels/quant.h"

namespace foretoken::engine {

namespace {

enum ValueType : uint32_t {
  kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kTypes
};
constexpr uint64_t kValueBytes[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::string_view kValueNames[kTypes] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                  "bool", "string", "array", "u64", "i64", "f64"};

std::string_view held_type(const GgufValue& value) {
  constexpr std::string_view kNames[] = {"an unsigned integer", "an integer", "a float",
                                         "a bool",              "a string",   "an array"};
  return kNames[value.index()];
}

std::string number(uint64_t n) { return std::to_string(n); }

/// Positions of `count` names in the order of the names; equal ones stay in file order. Sorting, not
/// hashing: no choice of names makes it slow.
template <typename NameOf>
std::vector<uint32_t> sorted_index(size_t count, NameOf name_of) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int c = name_of(a).compare(name_of(b));
    return c != 0 ? c < 0 : a < b;
  });
  return order;
}

template <typename NameOf>
const uint32_t* find_sorted(const std::vector<uint32_t>& order, std::string_view name, NameOf name_of) {
  const auto it = std::lower_bound(order.begin(), order.end(), name,
                                   [&](uint32_t i, std::string_view n) { return name_of(i) < n; });
  return it != order.end() && name_of(*it) == name ? &*it : nullptr;
}

}  // namespace

struct GgufFile::Impl {
  explicit Impl(const std::string& path) : stream(path) {}

  GgufStream stream;
  uint32_t version = 0;
  uint64_t alignment = 32;
  std::vector<std::pair<std::string_view, GgufValue>> values;
  std::vector<uint32_t> by_key;
  std::vector<GgufTensor> tensors;
  std::vector<uint32_t> by_name;

  auto key_of() const {
    return [this](uint32_t i) { return values[i].first; };
  }
  auto name_of() const {
    return [this](uint32_t i) { return tensors[i].name; };
  }

  void read_header();
  void read_values(uint64_t count);
  GgufValue read_value(uint32_t type);
  GgufArray read_array();
  void read_tensors(uint64_t count);
  GgufTensor read_tensor(uint64_t data_offset_expected);
  uint64_t tensor_bytes(const GgufTensor& tensor, uint32_t type_id);
  void place_tensors();
};

void GgufFile::Impl::read_header() {
  stream.field("magic");
  if (stream.file_bytes() == 0) stream.fail("the file is empty", "get it again");
  char magic[4] = {};
  stream.bytes(magic, std::min<uint64_t>(sizeof magic, stream.left()));
  if (std::string_view(magic, 4) != "GGUF") {
    stream.fail("this is no GGUF file: it begins with '" + printable({magic, 4}) + "'",
                "choose a model in GGUF format");
  }
  stream.field("version");
  version = stream.u32();
  if (version != 0 && (version & 0xFFFF) == 0) {
    stream.fail("the file is in big-endian byte order, which is not supported",
                "get the little-endian file");
  }
  if (version == 1) stream.fail("GGUF version 1 is not supported", "convert the model again");
  if (version != 2 && version != 3) {
    stream.fail("GGUF version " + number(version) + " is not known; versions 2 and 3 are",
                "get a file of version 3");
  }
  stream.field("tensor count");
  const uint64_t tensor_count = stream.u64();
  if (tensor_count > GgufLimits::kTensors) {
    stream.fail(number(tensor_count) + " tensors are more than the limit of " +
                number(GgufLimits::kTensors));
  }
  stream.field("key-value count");
  const uint64_t value_count = stream.u64();
  if (value_count > GgufLimits::kKeyValues) {
    stream.fail(number(value_count) + " key-values are more than the limit of " +
                number(GgufLimits::kKeyValues));
  }
  read_values(value_count);
  read_tensors(tensor_count);
}

void GgufFile::Impl::read_values(uint64_t count) {
  constexpr uint64_t kSmallest = 8 + 1 + 4 + 1;  // key length, key, type, value
  if (count > stream.left() / kSmallest) {
    stream.fail(number(count) + " key-values do not fit in the " + number(stream.left()) +
                " bytes left");
  }
  values.reserve(count);
  std::vector<uint64_t> offsets;
  offsets.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    stream.field("key " + number(i));
    offsets.push_back(stream.offset());
    const std::string_view key = stream.string(GgufLimits::kKey);
    if (key.empty()) stream.fail("the key is empty");
    stream.field(key);
    const uint32_t type = stream.u32();
    values.emplace_back(key, read_value(type));
  }
  by_key = sorted_index(values.size(), key_of());
  for (size_t i = 1; i < by_key.size(); ++i) {
    const std::string_view key = values[by_key[i]].first;
    if (key != values[by_key[i - 1]].first) continue;
    stream.field(key);
    stream.fail_at(offsets[by_key[i]], "the key appears twice");
  }
}

GgufValue GgufFile::Impl::read_value(uint32_t type) {
  switch (type) {
    case kU8: return uint64_t(stream.value<uint8_t>());
    case kI8: return int64_t(stream.value<int8_t>());
    case kU16: return uint64_t(stream.value<uint16_t>());
    case kI16: return int64_t(stream.value<int16_t>());
    case kU32: return uint64_t(stream.value<uint32_t>());
    case kI32: return int64_t(stream.value<int32_t>());
    case kF32: return double(stream.value<float>());
    case kBool: return stream.value<uint8_t>() != 0;  // 0 and 1 are legal, others are read as true
    case kString: return stream.string(GgufLimits::kString);
    case kArray: return read_array();
    case kU64: return stream.value<uint64_t>();
    case kI64: return stream.value<int64_t>();
    case kF64: return stream.value<double>();
    default: stream.fail("value type " + number(type) + " is not known");
  }
}

GgufArray GgufFile::Impl::read_array() {
  GgufArray array;
  array.type = stream.u32();
  if (array.type == kArray) stream.fail("arrays of arrays are not supported");
  if (array.type >= kTypes) stream.fail("element type " + number(array.type) + " is not known");
  array.count = stream.u64();
  const uint64_t smallest = array.type == kString ? 8 : kValueBytes[array.type];
  if (array.count > stream.left() / smallest) {
    stream.fail("an array of " + number(array.count) + " elements (" +
                std::string(kValueNames[array.type]) + ") does not fit in the " +
                number(stream.left()) + " bytes left");
  }
  if (array.type != kString) {
    array.raw = std::as_bytes(std::span(stream.keep(array.count * smallest)));
    return array;
  }
  stream.may_hold(array.count * smallest);
  array.strings.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    array.strings.push_back(stream.string(GgufLimits::kString));
  }
  return array;
}

void GgufFile::Impl::read_tensors(uint64_t count) {
  stream.field("general.alignment");
  if (const uint32_t* at = find_sorted(by_key, "general.alignment", key_of())) {
    const auto* stored = std::get_if<uint64_t>(&values[*at].second);
    if (stored == nullptr) {
      stream.fail("the alignment is " + std::string(held_type(values[*at].second)) + ", not a u32");
    }
    alignment = *stored;
    if (alignment == 0 || alignment > GgufLimits::kAlignment || (alignment & (alignment - 1)) != 0) {
      stream.fail("an alignment of " + number(alignment) + " is not a power of two from 1 to " +
                  number(GgufLimits::kAlignment));
    }
  }
  stream.field("split.count");
  if (const uint32_t* at = find_sorted(by_key, "split.count", key_of())) {
    const auto* parts = std::get_if<uint64_t>(&values[*at].second);
    if (parts != nullptr && *parts > 1) {
      stream.fail("the model is split into " + number(*parts) + " files, which is not supported",
                  "merge them with llama-gguf-split --merge");
    }
  }
  stream.field("tensor count");
  constexpr uint64_t kSmallest = 8 + 4 + 4 + 8;  // name length, dimensions, type, offset
  if (count > stream.left() / kSmallest) {
    stream.fail(number(count) + " tensors do not fit in the " + number(stream.left()) + " bytes left");
  }
  tensors.reserve(count);
  std::vector<uint64_t> offsets;
  offsets.reserve(count);
  uint64_t expected = 0;  // tensors lie one behind the other, each padded to the alignment
  for (uint64_t i = 0; i < count; ++i) {
    stream.field("tensor " + number(i));
    offsets.push_back(stream.offset());
    tensors.push_back(read_tensor(expected));
    expected += (tensors.back().bytes + alignment - 1) & ~(alignment - 1);  // bytes <= file size
  }
  by_name = sorted_index(tensors.size(), name_of());
  for (size_t i = 1; i < by_name.size(); ++i) {
    const std::string_view name = tensors[by_name[i]].name;
    if (name != tensors[by_name[i - 1]].name) continue;
    stream.field(name);
    stream.fail_at(offsets[by_name[i]], "the tensor appears twice");
  }
  place_tensors();
}

GgufTensor GgufFile::Impl::read_tensor(uint64_t data_offset_expected) {
  GgufTensor tensor;
  tensor.name = stream.string(GgufLimits::kNameBytes);
  stream.field(tensor.name);
  const uint32_t dims = stream.u32();
  if (dims > GgufLimits::kDims) {
    stream.fail("the tensor has " + number(dims) + " dimensions; at most " +
                number(GgufLimits::kDims) + " are allowed");
  }
  tensor.dims.reserve(std::max(dims, 1u));
  for (uint32_t d = 0; d < dims; ++d) {
    const uint64_t extent = stream.u64();
    if (extent > uint64_t(INT64_MAX)) stream.fail("dimension " + number(d) + " is negative");
    tensor.dims.push_back(extent);
  }
  if (dims == 0) tensor.dims.push_back(1);
  const uint32_t type = stream.u32();
  tensor.bytes = tensor_bytes(tensor, type);
  tensor.type = static_cast<kernels::DType>(type);
  tensor.offset = stream.u64();
  if (tensor.offset != data_offset_expected) {
    stream.fail("the data offset is " + number(tensor.offset) + " where " +
                number(data_offset_expected) + " is next");
  }
  if (tensor.bytes > stream.file_bytes()) {
    stream.fail("the tensor's " + number(tensor.bytes) + " bytes do not fit in a file of " +
                number(stream.file_bytes()));
  }
  return tensor;
}

uint64_t GgufFile::Impl::tensor_bytes(const GgufTensor& tensor, uint32_t type_id) {
  int block = 0, bytes = 0;
  const std::string_view type_name = kernels::gguf_type_name(type_id, &block, &bytes);
  if (type_name.empty()) stream.fail("tensor type " + number(type_id) + " is not known");
  if (block <= 0 || bytes <= 0) {
    stream.fail("tensor type " + std::string(type_name) + " was removed from GGUF",
                "convert the model again");
  }
  if (kernels::dtype_info(type_id) == nullptr) {
    stream.fail("tensor type " + std::string(type_name) + " is not supported",
                "choose another quantisation of the model, such as Q4_K_M or Q8_0");
  }
  uint64_t elements = 1;
  for (const uint64_t extent : tensor.dims) {
    if (extent != 0 && elements > uint64_t(INT64_MAX) / extent) {
      stream.fail("the tensor's number of elements overflows");
    }
    elements *= extent;
  }
  if (tensor.dims[0] % uint64_t(block) != 0) {
    stream.fail("rows of " + number(tensor.dims[0]) + " elements are no multiple of the " +
                number(uint64_t(block)) + " in a block of " + std::string(type_name));
  }
  const uint64_t blocks = elements / uint64_t(block);
  if (blocks > uint64_t(INT64_MAX) / uint64_t(bytes)) {
    stream.fail("the tensor's size in bytes overflows");
  }
  return blocks * uint64_t(bytes);
}

void GgufFile::Impl::place_tensors() {
  const uint64_t start = (stream.offset() + alignment - 1) & ~(alignment - 1);
  for (GgufTensor& tensor : tensors) {
    tensor.offset += start;  // both below 2^63: at most 65,536 sizes, each within the file
    if (tensor.bytes == 0) continue;
    if (tensor.offset > stream.file_bytes() || tensor.bytes > stream.file_bytes() - tensor.offset) {
      stream.field(tensor.name);
      stream.fail_at(tensor.offset,
                     "the tensor's " + number(tensor.bytes) + " bytes end behind the end of the file, " +
                         number(stream.file_bytes()),
                     "the file is cut off: get it again");
    }
  }
}

GgufFile::GgufFile(const std::string& path) : impl_(std::make_unique<Impl>(path)) {
  impl_->read_header();
  impl_->stream.finish();
}

GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const { return impl_->stream.path(); }
uint64_t GgufFile::file_bytes() const { return impl_->stream.file_bytes(); }
uint32_t GgufFile::version() const { return impl_->version; }
std::span<const GgufTensor> GgufFile::tensors() const { return impl_->tensors; }

const GgufValue* GgufFile::find(std::string_view key) const {
  const uint32_t* at = find_sorted(impl_->by_key, key, impl_->key_of());
  return at != nullptr ? &impl_->values[*at].second : nullptr;
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  const uint32_t* at = find_sorted(impl_->by_name, name, impl_->name_of());
  return at != nullptr ? &impl_->tensors[*at] : nullptr;
}

std::vector<std::string_view> GgufFile::keys() const {
  std::vector<std::string_view> keys;
  keys.reserve(impl_->values.size());
  for (const auto& [key, value] : impl_->values) keys.push_back(key);
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
  if (*i < 0) fail("the value is " + std::to_string(*i) + ", below 0 (field " + printable(key) + ")");
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
    fail("the array's elements are " + std::string(kValueNames[a->type]) + ", not " +
         std::string(element_type < kTypes ? kValueNames[element_type] : "known") + " (field " +
         printable(key) + ")");
  }
  return a;
}

void GgufFile::read(const GgufTensor& t, uint64_t from, std::span<std::byte> to) const {
  if (from > t.bytes || to.size() > t.bytes - from) {
    fail("a read of " + number(to.size()) + " bytes from byte " + number(from) +
         " goes past the tensor's " + number(t.bytes) + " (field " + printable(t.name) + ")");
  }
  impl_->stream.read_at(t.offset + from, to, t.name);
}

void GgufFile::fail(std::string_view what) const {
  std::string message = printable(path(), 4096) + ": " + std::string(what);
  if (what.find(';') == std::string_view::npos) message += "; the model file is damaged or unsuitable: get it again or choose another";
  throw ModelError(message);
}

}  // namespace foretoken::engine
