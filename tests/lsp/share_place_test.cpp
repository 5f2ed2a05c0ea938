#include "lsp/share_place.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t kSomebody = 12345;

std::string fault(const fs::path& folder, uid_t user = ::geteuid()) {
  try {
    const SharePlace place(folder, "k", user);
    if (place.connect()) return "";
    return place.try_own() ? "" : "held";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(SharePlace, AnOwnerListensAndOthersConnect) {
  const test::TempFolder temp;
  const SharePlace first(temp / "run", "k", ::geteuid()), second(temp / "run", "k", ::geteuid());
  EXPECT_FALSE(first.connect());
  auto ownership = first.try_own();
  ASSERT_NE(ownership, nullptr);
  EXPECT_EQ(second.try_own(), nullptr);
  EXPECT_FALSE(second.connect());  // owned, but nobody listens yet
  const Fd listening = ownership->listen();
  const Fd connected = second.connect();
  ASSERT_TRUE(connected);
  EXPECT_EQ(peer_of(connected)->user, ::geteuid());
  EXPECT_EQ(peer_of(connected)->pid, ::getpid());
  EXPECT_THAT(SharePlace::keys(temp / "run"), ElementsAre("k"));

  struct stat info{};
  ASSERT_EQ(::stat((temp / "run/k.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((temp / "run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  ownership.reset();
  EXPECT_THAT(SharePlace::keys(temp / "run"), IsEmpty());
  EXPECT_NE(second.try_own(), nullptr);
}

/// A killed owner leaves its socket.
TEST(SharePlace, ADeadOwnersSocketIsReplaced) {
  const test::TempFolder temp;
  const SharePlace place(temp / "run", "k", ::geteuid());
  { const Fd dead = place.try_own()->listen(); }
  temp.write("run/k.sock", "not even a socket");
  EXPECT_FALSE(place.connect());
  const auto ownership = place.try_own();
  const Fd listening = ownership->listen();
  EXPECT_TRUE(place.connect());
}

TEST(SharePlace, OfManyWhoRaceOneOwns) {
  const test::TempFolder temp;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> owners = 0, waiting = 8;
    std::vector<std::unique_ptr<Ownership>> held(8);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < held.size(); ++i) {
      threads.emplace_back([&, i] {
        const SharePlace place(temp / "run", "k", ::geteuid());
        for (--waiting; waiting > 0;) std::this_thread::yield();
        held[i] = place.try_own();
        if (held[i]) ++owners;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(owners, 1);
  }
}

/// A lock file that was cleaned away does not make two owners of one.
TEST(SharePlace, ALockThatWasRemovedCountsForNobodyNew) {
  const test::TempFolder temp;
  const SharePlace place(temp / "run", "k", ::geteuid());
  const auto first = place.try_own();
  fs::remove(temp / "run/k.lock");
  const auto second = place.try_own();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(place.try_own(), nullptr);
}

/// Longer than the address of a socket may be.
TEST(SharePlace, ALongPathIsNoTrouble) {
  const test::TempFolder temp;
  const fs::path folder = temp / std::string(120, 'a') / std::string(120, 'b');
  const SharePlace place(folder, "k", ::geteuid());
  const auto ownership = place.try_own();
  const Fd listening = ownership->listen();
  EXPECT_TRUE(place.connect());
  EXPECT_TRUE(fs::exists(folder / "k.sock"));
}

TEST(SharePlace, AFolderThatCannotBeTrustedIsRefusedInOneLine) {
  const test::TempFolder temp;
  fs::create_directory(temp / "real");
  fs::create_directory_symlink(temp / "real", temp / "link");
  EXPECT_THAT(fault(temp / "link"), HasSubstr("is a symbolic link or no folder; remove it, or set "
                                              "XDG_RUNTIME_DIR"));
  temp.write("file", "");
  EXPECT_THAT(fault(temp / "file"), HasSubstr("is a symbolic link or no folder"));
  EXPECT_THAT(fault("/proc/none/run"), HasSubstr("cannot make the folder"));
  EXPECT_EQ(fault(temp / "real"), "");
}

TEST(SharePlace, AnotherUsersFolderIsRefused) {
  const test::TempFolder temp;
  if (::geteuid() != 0) {  // the folder above belongs to us, and we say that we are somebody else
    EXPECT_THAT(fault(temp / "run", kSomebody), HasSubstr("belongs to another user; set XDG_RUNTIME_DIR"));
  }
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a folder away";
  fs::create_directory(temp / "theirs");
  ASSERT_EQ(::chown((temp / "theirs").c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(fault(temp / "theirs"), HasSubstr("belongs to another user; remove it, or set XDG_RUNTIME_DIR"));
  EXPECT_THAT(fault(temp / "theirs/run"), HasSubstr("belongs to another user; set XDG_RUNTIME_DIR"));
  EXPECT_FALSE(fs::exists(temp / "theirs/run"));
}

TEST(SharePlace, AFolderOthersMayEnterIsMadePrivate) {
  const test::TempFolder temp;
  fs::create_directory(temp / "run");
  fs::permissions(temp / "run", fs::perms::all);
  EXPECT_EQ(fault(temp / "run"), "");
  EXPECT_EQ(fs::status(temp / "run").permissions(), fs::perms::owner_all);
}

/// Whoever listens there must be this user.
TEST(SharePlace, AStrangersSocketIsRefused) {
  const test::TempFolder temp;
  const fs::path folder = fs::path("/tmp") / ("foretoken-test-" + std::to_string(::getpid()));
  const SharePlace place(folder, "k", ::geteuid());
  const auto ownership = place.try_own();
  const Fd listening = ownership->listen();
  if (::geteuid() == 0) {  // /tmp is root's, so the folder passes for somebody else too
    EXPECT_THAT(fault(folder, kSomebody), HasSubstr("another user listens on"));
  }
  fs::remove_all(folder);
}

TEST(SharePlace, KeysTellEnginesApart) {
  const test::TempFolder temp;
  EngineIdentity same;
  same.model = temp.write("m.gguf", "model");
  same.program = temp.write("program", "program");
  same.backend = "auto";
  std::vector<std::string> keys = {engine_key(same)};
  EXPECT_EQ(keys[0].size(), 16u);
  EXPECT_EQ(engine_key(same), keys[0]);
  const auto differs = [&](const EngineIdentity& identity) {
    keys.push_back(engine_key(identity));
    for (size_t i = 0; i + 1 < keys.size(); ++i) EXPECT_NE(keys[i], keys.back()) << i;
  };
  EngineIdentity other = same;
  other.backend = "reference", differs(other), other = same;
  other.threads = 1, differs(other), other = same;
  other.window_tokens = 1, differs(other), other = same;
  other.longest_output = 1, differs(other), other = same;
  other.kv_bytes = 1, differs(other), other = same;
  other.version = "2", differs(other), other = same;
  other.model = temp.write("other.gguf", "model"), differs(other), other = same;
  other.model = temp / "missing.gguf", differs(other), other = same;
  other.program = temp.write("rebuilt", "program"), differs(other), other = same;
  fs::create_symlink(temp / "m.gguf", temp / "link.gguf");
  other.model = temp / "link.gguf";
  EXPECT_EQ(engine_key(other), keys[0]);  // the same file by another name
  temp.write("m.gguf", "another");
  differs(same);
}

}  // namespace
}  // namespace foretoken::lsp
