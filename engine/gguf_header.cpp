#include "engine/gguf_header.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/quant.h"

namespace foretoken::engine {

namespace {

constexpr uint64_t kValueBytes[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::string_view kValueNames[kTypes] = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

std::string number(uint64_t n) {
  return std::to_string(n);
}

/// Positions of `count` names in the order of the names; equal ones stay in file order. Sorting,
/// not hashing: no choice of names makes it slow.
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
const uint32_t* find_sorted(const std::vector<uint32_t>& order, std::string_view name,
                            NameOf name_of) {
  const auto it = std::lower_bound(order.begin(), order.end(), name,
                                   [&](uint32_t i, std::string_view n) { return name_of(i) < n; });
  return it != order.end() && name_of(*it) == name ? &*it : nullptr;
}

}  // namespace

std::string_view gguf_value_type_name(uint32_t type) {
  return type < kTypes ? kValueNames[type] : "unknown";
}

std::string_view held_type(const GgufValue& value) {
  constexpr std::string_view kNames[] = {
      "an unsigned integer", "an integer", "a float", "a bool", "a string", "an array"};
  return kNames[value.index()];
}

const GgufValue* GgufHeader::value(std::string_view key) const {
  const uint32_t* at = find_sorted(by_key_, key, [this](uint32_t i) { return values_[i].first; });
  return at != nullptr ? &values_[*at].second : nullptr;
}

const GgufTensor* GgufHeader::tensor(std::string_view name) const {
  const uint32_t* at = find_sorted(by_name_, name, [this](uint32_t i) { return tensors_[i].name; });
  return at != nullptr ? &tensors_[*at] : nullptr;
}

GgufHeader::GgufHeader(GgufStream& stream) : stream_(stream) {
  stream_.field("magic");
  if (stream_.file_bytes() == 0) stream_.fail("the file is empty", "get it again");
  char magic[4] = {};
  stream_.bytes(magic, std::min<uint64_t>(sizeof magic, stream_.left()));
  if (std::string_view(magic, 4) != "GGUF") {
    stream_.fail("this is no GGUF file: it begins with '" + printable({magic, 4}) + "'",
                 "choose a model in GGUF format");
  }
  stream_.field("version");
  version_ = stream_.u32();
  if (version_ != 0 && (version_ & 0xFFFF) == 0) {
    stream_.fail("the file is in big-endian byte order, which is not supported",
                 "get the little-endian file");
  }
  if (version_ == 1) stream_.fail("GGUF version 1 is not supported", "convert the model again");
  if (version_ != 2 && version_ != 3) {
    stream_.fail("GGUF version " + number(version_) + " is not known; versions 2 and 3 are",
                 "get a file of version 3");
  }
  stream_.field("tensor count");
  const uint64_t tensor_count = stream_.u64();
  if (tensor_count > GgufLimits::kTensors) {
    stream_.fail(number(tensor_count) + " tensors are more than the limit of " +
                 number(GgufLimits::kTensors));
  }
  stream_.field("key-value count");
  const uint64_t value_count = stream_.u64();
  if (value_count > GgufLimits::kKeyValues) {
    stream_.fail(number(value_count) + " key-values are more than the limit of " +
                 number(GgufLimits::kKeyValues));
  }
  read_values(value_count);
  read_tensors(tensor_count);
}

void GgufHeader::read_values(uint64_t count) {
  constexpr uint64_t kSmallest = 8 + 1 + 4 + 1;  // key length, key, type, value
  if (count > stream_.left() / kSmallest) {
    stream_.fail(number(count) + " key-values do not fit in the " + number(stream_.left()) +
                 " bytes left");
  }
  values_.reserve(count);
  std::vector<uint64_t> offsets;
  offsets.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    stream_.field("key " + number(i));
    offsets.push_back(stream_.offset());
    const std::string_view key = stream_.string(GgufLimits::kKey);
    if (key.empty()) stream_.fail("the key is empty");
    stream_.field(key);
    const uint32_t type = stream_.u32();
    values_.emplace_back(key, read_value(type));
    if (key == "general.alignment") check_alignment(type);
  }
  by_key_ = sorted_index(values_.size(), [this](uint32_t i) { return values_[i].first; });
  for (size_t i = 1; i < by_key_.size(); ++i) {
    const std::string_view key = values_[by_key_[i]].first;
    if (key != values_[by_key_[i - 1]].first) continue;
    stream_.field(key);
    stream_.fail_at(offsets[by_key_[i]], "the key appears twice");
  }
}

void GgufHeader::check_alignment(uint32_t type) {
  if (type != kU32) {
    stream_.fail("the alignment is stored as " + std::string(kValueNames[type]) + ", not as u32");
  }
  alignment_ = std::get<uint64_t>(values_.back().second);
  if (alignment_ > GgufLimits::kAlignment || !std::has_single_bit(alignment_)) {
    stream_.fail("an alignment of " + number(alignment_) + " is not a power of two from 1 to " +
                 number(GgufLimits::kAlignment));
  }
}

GgufValue GgufHeader::read_value(uint32_t type) {
  switch (type) {
    case kU8:
      return uint64_t(stream_.value<uint8_t>());
    case kI8:
      return int64_t(stream_.value<int8_t>());
    case kU16:
      return uint64_t(stream_.value<uint16_t>());
    case kI16:
      return int64_t(stream_.value<int16_t>());
    case kU32:
      return uint64_t(stream_.value<uint32_t>());
    case kI32:
      return int64_t(stream_.value<int32_t>());
    case kF32:
      return double(stream_.value<float>());
    case kBool:
      return stream_.value<uint8_t>() != 0;  // 0 and 1 are legal, others are read as true
    case kString:
      return stream_.string(GgufLimits::kString);
    case kArray:
      return read_array();
    case kU64:
      return stream_.value<uint64_t>();
    case kI64:
      return stream_.value<int64_t>();
    case kF64:
      return stream_.value<double>();
    default:
      stream_.fail("value type " + number(type) + " is not known");
  }
}

GgufArray GgufHeader::read_array() {
  GgufArray array;
  array.type = stream_.u32();
  if (array.type == kArray) stream_.fail("arrays of arrays are not supported");
  if (array.type >= kTypes) stream_.fail("element type " + number(array.type) + " is not known");
  array.count = stream_.u64();
  const uint64_t smallest = array.type == kString ? 8 : kValueBytes[array.type];
  if (array.count > stream_.left() / smallest) {
    stream_.fail("an array of " + number(array.count) + " elements (" +
                 std::string(kValueNames[array.type]) + ") does not fit in the " +
                 number(stream_.left()) + " bytes left");
  }
  if (array.type != kString) {
    array.raw = std::as_bytes(std::span(stream_.keep(array.count * smallest)));
    return array;
  }
  stream_.may_hold(array.count * smallest);
  array.strings.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    array.strings.push_back(stream_.string(GgufLimits::kString));
  }
  return array;
}

void GgufHeader::read_tensors(uint64_t count) {
  stream_.field("split.count");
  if (const GgufValue* parts = value("split.count")) {
    const auto* stored = std::get_if<uint64_t>(parts);
    if (stored != nullptr && *stored > 1) {
      stream_.fail("the model is split into " + number(*stored) + " files, which is not supported",
                   "merge them with llama-gguf-split --merge");
    }
  }
  stream_.field("tensor count");
  constexpr uint64_t kSmallest = 8 + 4 + 4 + 8;  // name length, dimensions, type, offset
  if (count > stream_.left() / kSmallest) {
    stream_.fail(number(count) + " tensors do not fit in the " + number(stream_.left()) +
                 " bytes left");
  }
  tensors_.reserve(count);
  std::vector<uint64_t> offsets;
  offsets.reserve(count);
  uint64_t expected = 0;  // tensors lie one behind the other, each padded to the alignment
  for (uint64_t i = 0; i < count; ++i) {
    stream_.field("tensor " + number(i));
    offsets.push_back(stream_.offset());
    tensors_.push_back(read_tensor(expected));
    expected += (tensors_.back().bytes + alignment_ - 1) & ~(alignment_ - 1);  // bytes <= file size
  }
  by_name_ = sorted_index(tensors_.size(), [this](uint32_t i) { return tensors_[i].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const std::string_view name = tensors_[by_name_[i]].name;
    if (name != tensors_[by_name_[i - 1]].name) continue;
    stream_.field(name);
    stream_.fail_at(offsets[by_name_[i]], "the tensor appears twice");
  }
  place_tensors();
}

GgufTensor GgufHeader::read_tensor(uint64_t expected_offset) {
  GgufTensor tensor;
  tensor.name = stream_.string(GgufLimits::kNameBytes);
  stream_.field(tensor.name);
  const uint32_t dims = stream_.u32();
  if (dims > GgufLimits::kDims) {
    stream_.fail("the tensor has " + number(dims) + " dimensions; at most " +
                 number(GgufLimits::kDims) + " are allowed");
  }
  tensor.dims.reserve(std::max(dims, 1u));
  for (uint32_t d = 0; d < dims; ++d) {
    const uint64_t extent = stream_.u64();
    if (extent > uint64_t(INT64_MAX)) stream_.fail("dimension " + number(d) + " is negative");
    tensor.dims.push_back(extent);
  }
  if (dims == 0) tensor.dims.push_back(1);
  const uint32_t type = stream_.u32();
  tensor.bytes = tensor_bytes(tensor, type);
  tensor.type = static_cast<kernels::DType>(type);
  tensor.offset = stream_.u64();
  if (tensor.offset != expected_offset) {
    stream_.fail("the data offset is " + number(tensor.offset) + " where " +
                 number(expected_offset) + " is next");
  }
  if (tensor.bytes > stream_.file_bytes()) {
    stream_.fail("the tensor's " + number(tensor.bytes) + " bytes do not fit in a file of " +
                 number(stream_.file_bytes()));
  }
  return tensor;
}

uint64_t GgufHeader::tensor_bytes(const GgufTensor& tensor, uint32_t type_id) {
  int block = 0, bytes = 0;
  const std::string_view type_name = kernels::gguf_type_name(type_id, &block, &bytes);
  if (type_name.empty()) stream_.fail("tensor type " + number(type_id) + " is not known");
  if (block <= 0 || bytes <= 0) {
    stream_.fail("tensor type " + std::string(type_name) + " was removed from GGUF",
                 "convert the model again");
  }
  if (kernels::dtype_info(type_id) == nullptr) {
    stream_.fail("tensor type " + std::string(type_name) + " is not supported",
                 "choose another quantisation of the model, such as Q4_K_M or Q8_0");
  }
  uint64_t elements = 1;
  for (const uint64_t extent : tensor.dims) {
    if (extent != 0 && elements > uint64_t(INT64_MAX) / extent) {
      stream_.fail("the tensor's number of elements overflows");
    }
    elements *= extent;
  }
  if (tensor.dims[0] % uint64_t(block) != 0) {
    stream_.fail("rows of " + number(tensor.dims[0]) + " elements are no multiple of the " +
                 number(uint64_t(block)) + " in a block of " + std::string(type_name));
  }
  const uint64_t blocks = elements / uint64_t(block);
  if (blocks > uint64_t(INT64_MAX) / uint64_t(bytes)) {
    stream_.fail("the tensor's size in bytes overflows");
  }
  return blocks * uint64_t(bytes);
}

void GgufHeader::place_tensors() {
  const uint64_t start = (stream_.offset() + alignment_ - 1) & ~(alignment_ - 1);
  for (GgufTensor& tensor : tensors_) {
    tensor.offset += start;  // both below 2^63: at most 65,536 sizes, each within the file
    if (tensor.bytes == 0) continue;
    if (tensor.offset > stream_.file_bytes() ||
        tensor.bytes > stream_.file_bytes() - tensor.offset) {
      stream_.field(tensor.name);
      stream_.fail_at(tensor.offset,
                      "the tensor's " + number(tensor.bytes) +
                          " bytes end behind the end of the file, " + number(stream_.file_bytes()),
                      "the file is cut off: get it again");
    }
  }
}

}  // namespace foretoken::engine
