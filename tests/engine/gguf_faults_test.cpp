// Every fault of a GGUF container is one error that names file, field and byte. The table follows
// llama.cpp's tests/test-gguf.cpp and the published advisories on GGUF readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/gguf.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using test::raw;
using test::raw_string;
using testing::HasSubstr;

constexpr uint64_t kHuge = ~0ull, kTop = 1ull << 63;

struct Fault {
  const char* name;
  std::function<void(GgufBuilder&)> spoil;
  const char* field;  // in the message
  const char* says;   // part of the message
};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

GgufBuilder::Value& value(GgufBuilder& b, std::string_view key) {
  for (auto& v : b.values) {
    if (v.key == key) return v;
  }
  throw std::out_of_range("no key");
}

void two_small_tensors(GgufBuilder& b, std::vector<uint64_t> dims) {
  b.tensors.clear();
  b.add_tensor("a", {32}, 0, std::string(128, 'x')).add_tensor("b", std::move(dims), 0, "");
}

const Fault kFaults[] = {
    {"magic", [](auto& b) { b.magic = "GGML"; }, "magic", "no GGUF file"},
    {"magic_with_escapes", [](auto& b) { b.magic = "\x1b[2J"; }, "magic", "'\\x1B[2J'"},
    {"version_0", [](auto& b) { b.version = 0; }, "version", "version 0 is not known"},
    {"version_1", [](auto& b) { b.version = 1; }, "version", "version 1 is not supported"},
    {"version_4", [](auto& b) { b.version = 4; }, "version", "version 4 is not known"},
    {"version_swapped", [](auto& b) { b.version = 3u << 24; }, "version", "big-endian"},
    {"version_swapped_2", [](auto& b) { b.version = 2u << 24; }, "version", "big-endian"},
    {"tensor_count_huge", [](auto& b) { b.tensor_count = kHuge; }, "tensor count", "limit"},
    {"tensor_count_negative", [](auto& b) { b.tensor_count = kTop; }, "tensor count", "limit"},
    {"tensor_count_wraps", [](auto& b) { b.tensor_count = kHuge / 368 + 1; }, "tensor count",
     "limit"},
    {"tensor_count_over_limit", [](auto& b) { b.tensor_count = 65537; }, "tensor count", "limit"},
    {"tensor_count_past_file", [](auto& b) { b.tensor_count = 65536; }, "tensor count", "not fit"},
    {"tensor_count_one_more",
     [](auto& b) {
       b.tensors.clear();
       b.tensor_count = 1;
     },
     "tensor count", "not fit"},
    {"value_count_huge", [](auto& b) { b.value_count = kHuge; }, "key-value count", "limit"},
    {"value_count_negative", [](auto& b) { b.value_count = kTop; }, "key-value count", "limit"},
    {"value_count_over_limit", [](auto& b) { b.value_count = 262145; }, "key-value count", "limit"},
    {"value_count_past_file", [](auto& b) { b.value_count = 262144; }, "key-value count",
     "not fit"},
    {"value_count_one_more",
     [](auto& b) {
       b.tensors.clear();
       b.value_count = b.values.size() + 1;
     },
     "key", "cut off"},
    {"key_length_huge", [](auto& b) { b.values[0].key_length = kHuge; }, "key 0", "not fit"},
    {"key_length_minus_1", [](auto& b) { b.values[1].key_length = kHuge - 1; }, "key 1", "not fit"},
    {"key_length_past_file", [](auto& b) { b.values[0].key_length = 1 << 30; }, "key 0", "not fit"},
    {"key_over_limit", [](auto& b) { b.values[0].key.assign(65537, 'k'); }, "key 0", "limit"},
    {"key_empty", [](auto& b) { b.values[0].key.clear(); }, "key 0", "empty"},
    {"key_twice", [](auto& b) { b.values.push_back(b.values[0]); }, "general.architecture",
     "twice"},
    {"type_13", [](auto& b) { value(b, "general.name").type = 13; }, "general.name", "type 13"},
    {"type_negative", [](auto& b) { value(b, "general.name").type = ~0u; }, "general.name",
     "not known"},
    {"string_length_huge", [](auto& b) { b.set("general.name", b.string, raw(kHuge)); },
     "general.name", "not fit"},
    {"string_length_top", [](auto& b) { b.set("general.name", b.string, raw(kTop - 1)); },
     "general.name", "not fit"},
    {"string_over_limit",
     [](auto& b) { b.set_string("general.name", std::string((16 << 20) + 1, 'x')); },
     "general.name", "limit"},
    {"string_ends_file",
     [](auto& b) {
       b.tensors.clear();
       b.set("last", b.string, raw<uint64_t>(5) + "1234");
     },
     "last", "not fit"},
    {"value_ends_file",
     [](auto& b) {
       b.tensors.clear();
       b.set("last", b.u64, "123");
     },
     "last", "cut off"},
    {"array_of_arrays",
     [](auto& b) { b.set_array("nested", b.array, 1, raw(b.u32) + raw<uint64_t>(0)); }, "nested",
     "arrays of arrays"},
    {"array_type_13", [](auto& b) { b.set_array("odd", 13, 0, ""); }, "odd", "type 13"},
    {"array_type_negative", [](auto& b) { b.set_array("odd", ~0u, 0, ""); }, "odd", "not known"},
    {"array_count_huge", [](auto& b) { b.set_array("long", b.u8, kHuge, ""); }, "long", "not fit"},
    {"array_count_top", [](auto& b) { b.set_array("long", b.u8, kTop, ""); }, "long", "not fit"},
    {"array_bytes_wrap", [](auto& b) { b.set_array("long", b.f64, (1ull << 61) + 1, "12345678"); },
     "long", "not fit"},
    {"array_past_file", [](auto& b) { b.set_array("long", b.f32, 1 << 28, ""); }, "long",
     "not fit"},
    {"array_strings_huge", [](auto& b) { b.set_array("long", b.string, kHuge / 8, ""); }, "long",
     "not fit"},
    {"array_string_length_huge",
     [](auto& b) { b.set_array("texts", b.string, 2, raw_string("a") + raw(kHuge)); }, "texts",
     "not fit"},
    {"alignment_0", [](auto& b) { b.set_u32("general.alignment", 0); }, "general.alignment",
     "of 0"},
    {"alignment_3", [](auto& b) { b.set_u32("general.alignment", 3); }, "general.alignment",
     "of 3"},
    {"alignment_33", [](auto& b) { b.set_u32("general.alignment", 33); }, "general.alignment",
     "of 33"},
    {"alignment_8192", [](auto& b) { b.set_u32("general.alignment", 8192); }, "general.alignment",
     "of 8192"},
    {"alignment_2_to_31", [](auto& b) { b.set_u32("general.alignment", 1u << 31); },
     "general.alignment", "of 2147483648"},
    {"alignment_u64", [](auto& b) { b.set("general.alignment", b.u64, raw<uint64_t>(32)); },
     "general.alignment", "u64"},
    {"alignment_string", [](auto& b) { b.set_string("general.alignment", "32"); },
     "general.alignment", "string"},
    {"alignment_array", [](auto& b) { b.set_i32s("general.alignment", {32}); }, "general.alignment",
     "array"},
    {"alignment_other_than_laid_out", [](auto& b) { b.set_u32("general.alignment", 256); },
     "blk.0.attn_q.weight", "offset"},
    {"split_file", [](auto& b) { b.set("split.count", b.u16, raw<uint16_t>(3)); }, "split.count",
     "3 files"},
    {"tensor_name_64", [](auto& b) { b.tensors[0].name.assign(64, 'n'); }, "tensor 0",
     "longer than the limit"},
    {"tensor_name_huge", [](auto& b) { b.tensors[0].name_length = kHuge; }, "tensor 0", "not fit"},
    {"tensor_twice", [](auto& b) { b.tensors[2].name = b.tensors[1].name; },
     "blk.0.attn_norm.weight", "twice"},
    {"dims_5", [](auto& b) { b.tensors[0].dims = {1, 1, 1, 1, 1}; }, "token_embd.weight", "5 dim"},
    {"dims_huge", [](auto& b) { b.tensors[0].dim_count = ~0u; }, "token_embd.weight", "dimensions"},
    {"dim_negative", [](auto& b) { two_small_tensors(b, {kHuge}); }, "b", "negative"},
    {"dim_negative_beside_zero", [](auto& b) { two_small_tensors(b, {0, kTop}); }, "b", "negative"},
    {"elements_overflow", [](auto& b) { two_small_tensors(b, {1ull << 32, 1ull << 32}); }, "b",
     "overflows"},
    {"elements_overflow_4",
     [](auto& b) { two_small_tensors(b, {1 << 16, 1 << 16, 1 << 16, 1 << 16}); }, "b", "overflows"},
    {"elements_wrap_to_small", [](auto& b) { two_small_tensors(b, {(1ull << 62) + 1, 4}); }, "b",
     "overflows"},
    {"bytes_overflow", [](auto& b) { two_small_tensors(b, {1ull << 62}); }, "b", "overflows"},
    {"bytes_past_file", [](auto& b) { two_small_tensors(b, {1ull << 40}); }, "b",
     "not fit in a file"},
    {"type_removed", [](auto& b) { b.tensors[0].type = 4; }, "token_embd.weight",
     "Q4_2 was removed"},
    {"type_removed_31", [](auto& b) { b.tensors[0].type = 31; }, "token_embd.weight",
     "was removed"},
    {"type_not_computed", [](auto& b) { b.tensors[0].type = 16; }, "token_embd.weight",
     "IQ2_XXS is not supported"},
    {"type_43", [](auto& b) { b.tensors[0].type = 43; }, "token_embd.weight",
     "type 43 is not known"},
    {"type_minus_1", [](auto& b) { b.tensors[0].type = ~0u; }, "token_embd.weight", "not known"},
    {"row_no_multiple_of_block",
     [](auto& b) {
       b.tensors[0].type = 8;
       b.tensors[0].dims = {33, 2};
     },
     "token_embd.weight", "no multiple"},
    {"offset_unaligned", [](auto& b) { b.tensors[1].offset = 33; }, "blk.0.attn_norm.weight",
     "offset"},
    {"offset_gap", [](auto& b) { b.tensors[0].offset = 32; }, "token_embd.weight", "offset"},
    {"offset_overlap", [](auto& b) { b.tensors[1].offset = 0; }, "blk.0.attn_norm.weight",
     "offset"},
    {"offset_huge", [](auto& b) { b.tensors[0].offset = kHuge - 31; }, "token_embd.weight",
     "offset"},
    {"data_missing",
     [](auto& b) {
       b.tensors.back().data.clear();
       b.pad_last_tensor = false;
     },
     "output_norm.weight", "end of the file"},
    {"data_cut_by_one",
     [](auto& b) {
       b.tensors.back().data.pop_back();
       b.pad_last_tensor = false;
     },
     "output_norm.weight", "end of the file"},
};

class GgufFault : public testing::TestWithParam<Fault> {};

TEST_P(GgufFault, IsOneErrorThatNamesItsPlace) {
  const Fault& fault = GetParam();
  GgufBuilder b = test::tiny_llama();
  fault.spoil(b);
  const test::TemporaryFile file(b.bytes());
  try {
    const GgufFile gguf(file.path());
    FAIL() << "was loaded";
  } catch (const ModelError& error) {
    const std::string message = error.what();
    // PATH: what is wrong (field NAME, byte OFFSET); remedy
    EXPECT_THAT(message, testing::MatchesRegex(R"(.*: .+ \(field .+, byte [0-9]+\); .+)"));
    EXPECT_TRUE(message.starts_with(file.path() + ": ")) << message;
    EXPECT_THAT(message, HasSubstr(std::string("(field ") + fault.field));
    EXPECT_THAT(message, HasSubstr(fault.says));
    for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, GgufFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace foretoken::engine
