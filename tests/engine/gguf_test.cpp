// What a GGUF file may say, and that it is read exactly; what is refused is in
// gguf_faults_test.cpp.
#include "engine/gguf.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using test::raw;
using test::TemporaryFile;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(Gguf, GivesBackEveryTypeOfValue) {
  GgufBuilder b;
  b.set("u8", b.u8, raw<uint8_t>(200)).set("i8", b.i8, raw<int8_t>(-7));
  b.set("u16", b.u16, raw<uint16_t>(60000)).set("i16", b.i16, raw<int16_t>(-30000));
  b.set_u32("u32", 4000000000u).set_i32("i32", -5).set("u64", b.u64, raw<uint64_t>(1ull << 63));
  b.set("i64", b.i64, raw<int64_t>(77)).set_f32("f32", 0.5f).set("f64", b.f64, raw(1e300));
  b.set_bool("yes", true).set_bool("no", false).set_string("text", std::string("a\0b", 3));
  b.set_strings("texts", {"one", "", "three"}).set_i32s("numbers", {1, -2, 3});
  const TemporaryFile file(b.bytes());
  const GgufFile gguf(file.path());
  EXPECT_EQ(gguf.integer("u8"), 200u);
  EXPECT_EQ(gguf.integer("u16"), 60000u);
  EXPECT_EQ(gguf.integer("u32"), 4000000000u);
  EXPECT_EQ(gguf.integer("u64"), 1ull << 63);
  EXPECT_EQ(gguf.integer("i64"), 77u);
  EXPECT_EQ(std::get<int64_t>(*gguf.find("i8")), -7);
  EXPECT_EQ(std::get<int64_t>(*gguf.find("i16")), -30000);
  EXPECT_EQ(std::get<int64_t>(*gguf.find("i32")), -5);
  EXPECT_EQ(gguf.real("f32"), 0.5);
  EXPECT_EQ(gguf.real("f64"), 1e300);
  EXPECT_EQ(gguf.boolean("yes"), true);
  EXPECT_EQ(gguf.boolean("no"), false);
  EXPECT_EQ(gguf.string("text"), std::string_view("a\0b", 3));
  EXPECT_THAT(gguf.array("texts", b.string)->strings, ElementsAre("one", "", "three"));
  const GgufArray* numbers = gguf.array("numbers", b.i32);
  ASSERT_EQ(numbers->raw.size(), 12u);
  int32_t second;
  std::memcpy(&second, numbers->raw.data() + 4, 4);
  EXPECT_EQ(second, -2);
  EXPECT_EQ(gguf.keys().size(), 15u);
  EXPECT_EQ(gguf.keys()[0], "u8");
  EXPECT_EQ(gguf.file_bytes(), b.bytes().size());
}

TEST(Gguf, TypedAccessNamesTheKeyAtFault) {
  GgufBuilder b;
  b.set_string("text", "x").set_i32("below", -1).set_bool("yes", true).set_strings("texts", {"a"});
  const TemporaryFile file(b.bytes());
  const GgufFile gguf(file.path());
  EXPECT_EQ(gguf.integer("absent"), std::nullopt);
  EXPECT_EQ(gguf.real("absent"), std::nullopt);
  EXPECT_EQ(gguf.boolean("absent"), std::nullopt);
  EXPECT_EQ(gguf.string("absent"), std::nullopt);
  EXPECT_EQ(gguf.array("absent", b.string), nullptr);
  EXPECT_THAT(error_of([&] { gguf.integer("text"); }), HasSubstr("(field text)"));
  EXPECT_THAT(error_of([&] { gguf.integer("below"); }), HasSubstr("(field below)"));
  EXPECT_THAT(error_of([&] { gguf.integer("yes"); }), HasSubstr("(field yes)"));
  EXPECT_THAT(error_of([&] { gguf.real("below"); }), HasSubstr("(field below)"));
  EXPECT_THAT(error_of([&] { gguf.boolean("below"); }), HasSubstr("(field below)"));
  EXPECT_THAT(error_of([&] { gguf.string("texts"); }), HasSubstr("(field texts)"));
  EXPECT_THAT(error_of([&] { gguf.array("text", b.string); }), HasSubstr("(field text)"));
  EXPECT_THAT(error_of([&] { gguf.array("texts", b.i32); }), HasSubstr("(field texts)"));
}

TEST(Gguf, ReadsTensorsExactly) {
  for (const uint64_t alignment : {1, 2, 8, 32, 64, 4096}) {
    for (const uint32_t version : {2u, 3u}) {
      GgufBuilder b;
      b.version = version;
      b.alignment = alignment;
      b.set_u32("general.alignment", static_cast<uint32_t>(alignment));
      const std::string first = test::random_floats(3 * 5, 1, 1), last(34 * 2, 'q');
      b.add_tensor("first", {3, 5}, 0, first).add_tensor("empty", {4, 0, 7}, 0, "");
      b.add_tensor("scalar", {}, 0, raw(2.5f)).add_tensor("last", {32, 2, 1, 1}, 8, last);
      b.pad_last_tensor = version == 3;  // may be missing
      const TemporaryFile file(b.bytes());
      const GgufFile gguf(file.path());
      EXPECT_EQ(gguf.version(), version);
      ASSERT_EQ(gguf.tensors().size(), 4u);
      EXPECT_EQ(gguf.tensors()[3].name, "last");
      const GgufTensor& t = *gguf.tensor("first");
      EXPECT_THAT(t.dims, ElementsAre(3u, 5u));
      EXPECT_EQ(t.dim(1), 5u);
      EXPECT_EQ(t.dim(3), 1u);
      EXPECT_EQ(t.type, kernels::DType::f32);
      EXPECT_EQ(t.offset % alignment, 0u);
      std::string read(first.size() - 8, '\0');
      gguf.read(t, 8, std::as_writable_bytes(std::span(read)));
      EXPECT_EQ(read, first.substr(8));
      EXPECT_EQ(gguf.tensor("empty")->bytes, 0u);
      EXPECT_EQ(gguf.tensor("scalar")->bytes, 4u);
      read.resize(last.size());
      gguf.read(*gguf.tensor("last"), 0, std::as_writable_bytes(std::span(read)));
      EXPECT_EQ(read, last);
      EXPECT_EQ(gguf.tensor("nothing"), nullptr);
    }
  }
}

TEST(Gguf, TakesWhatIsOddButHarmless) {
  const auto loads = [](const GgufBuilder& b) {
    const TemporaryFile file(b.bytes());
    return error_of([&] { GgufFile gguf(file.path()); });
  };
  EXPECT_EQ(loads(GgufBuilder()), "");  // neither values nor tensors
  GgufBuilder b = test::tiny_llama();
  EXPECT_EQ(loads(b), "");
  b.set("odd.bool", b.boolean, std::string(1, '\2'));
  b.set_string("unknown.key", std::string(1 << 20, 'x'));
  b.set_string("\x1b[31m escape \xff", "value \x1b");
  b.set_string(std::string(65535, 'k'), "long key");
  b.set_array("empty.array", b.u64, 0, "");
  b.set_string("tokenizer.chat_template", "{% for x in range(10**9) %}{{ open('/etc/passwd') }}");
  b.set_string("general.name", "../../etc/passwd");
  b.add_tensor("unused", {0}, 0, "").add_tensor(std::string(63, 'n'), {1}, 0, raw(1.0f));
  EXPECT_EQ(loads(b), "");
  const TemporaryFile file(b.bytes());
  EXPECT_EQ(GgufFile(file.path()).boolean("odd.bool"), true);
}

TEST(Gguf, SaysWhatIsNoModelFile) {
  const auto error = [](const std::string& path) { return error_of([&] { GgufFile gguf(path); }); };
  const std::string missing = "/nonexistent/model.gguf";
  EXPECT_THAT(error(missing), AllOf(HasSubstr(missing), HasSubstr("No such file")));
  EXPECT_THAT(error("/nonexistent/\x1b[2J\n"), HasSubstr("\\x1B[2J\\x0A"));
  EXPECT_THAT(error("/"), HasSubstr("directory"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(error(TemporaryFile("").path()), HasSubstr("empty"));
  EXPECT_THAT(error(TemporaryFile("#!/bin/sh\n").path()), HasSubstr("no GGUF file"));
  EXPECT_THAT(error(TemporaryFile("GG").path()), HasSubstr("no GGUF file"));
  const std::string fifo = TemporaryFile("").path();  // its name: the file is gone
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error(fifo), HasSubstr("not a regular file"));  // and does not wait for a writer
  ::unlink(fifo.c_str());
}

TEST(Gguf, EveryCutOfAFileIsAnError) {
  GgufBuilder b = test::tiny_llama();
  b.pad_last_tensor = false;
  const std::string whole = b.bytes();
  const size_t header = b.header().size();
  const TemporaryFile file(whole);
  for (size_t size = whole.size() - 1; size > 0; size -= size > header ? 997
                                                         : size > 300  ? 31
                                                                       : 1) {
    if (size > whole.size()) break;
    file.truncate(size);
    const std::string error = error_of([&] { GgufFile gguf(file.path()); });
    EXPECT_THAT(error, HasSubstr("byte")) << size;
    if (size <= 40) continue;
    EXPECT_THAT(error, HasSubstr("get it again")) << size;
  }
}

TEST(Gguf, NoticesThatTheFileChangedInUse) {
  const GgufBuilder b = test::tiny_llama();
  const std::string whole = b.bytes();
  const auto error_after = [&](const auto& change) {
    const TemporaryFile file(whole);
    const GgufFile gguf(file.path());
    std::string data(gguf.tensor("output_norm.weight")->bytes, '\0');
    const auto read = [&] {
      gguf.read(*gguf.tensor("output_norm.weight"), 0, std::as_writable_bytes(std::span(data)));
    };
    read();
    change(file);
    return error_of(read);
  };
  const auto later = [](const TemporaryFile& file) {  // a second, whatever the clock's grain
    std::filesystem::last_write_time(
        file.path(), std::filesystem::last_write_time(file.path()) + std::chrono::seconds(1));
  };
  EXPECT_THAT(error_after([](auto& file) { file.truncate(0); }), HasSubstr("changed while in use"));
  EXPECT_THAT(error_after([&](auto& file) { file.truncate(whole.size() / 2); }),
              HasSubstr("changed while in use"));
  EXPECT_THAT(error_after([&](auto& file) {
                file.overwrite(whole);
                later(file);
              }),
              HasSubstr("changed while in use"));
  // A file that only lost its name is still whole.
  EXPECT_EQ(error_after([](auto& file) { ::unlink(file.path().c_str()); }), "");
}

TEST(Gguf, RefusesToReadPastATensor) {
  const TemporaryFile file(test::tiny_llama().bytes());
  const GgufFile gguf(file.path());
  const GgufTensor& t = *gguf.tensor("output_norm.weight");
  std::byte one[1];
  EXPECT_NE(error_of([&] { gguf.read(t, t.bytes, one); }), "");
  EXPECT_NE(error_of([&] { gguf.read(t, ~0ull, one); }), "");
}

}  // namespace
}  // namespace foretoken::engine
