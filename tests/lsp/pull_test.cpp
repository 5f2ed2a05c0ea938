#include "lsp/pull.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include "lsp/private_folder.h"
#include "lsp/progress.h"
#include "tests/lsp/pull_fixture.h"

namespace foretoken::lsp {
namespace {

using test::Hub;
using test::read_file;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST_F(Pull, LandsVerifiedAndPrivateWhateverTheUmask) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  const mode_t before = umask(0);
  const Pulled pulled = run();
  umask(before);
  EXPECT_EQ(read_file(pulled.path), content);
  EXPECT_EQ(pulled.sha256, sum_of(content));
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::verified);
  EXPECT_THAT(files(), ElementsAre(".tiny.lock", "tiny.gguf", "tiny.gguf.sha256"));
  struct stat info{};
  for (const auto& folder : {paths().cache, paths().models()}) {
    ASSERT_EQ(stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u) << folder;
  }
  for (const auto& file : std::filesystem::directory_iterator(paths().models())) {
    ASSERT_EQ(stat(file.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << file;
  }
  EXPECT_TRUE(run().was_here);
  EXPECT_EQ(hub.requests().size(), 2u);  // the hub and its storage, once
  EXPECT_THAT(hub.requests()[0], HasSubstr("/good/repo/resolve/main/model%20file.gguf"));
}

TEST_F(Pull, GoesOnWhereTheConnectionBroke) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("cut")};
  EXPECT_EQ(read_file(run().path), content);
  const auto requests = hub.requests();
  ASSERT_GE(requests.size(), 4u);
  EXPECT_EQ(requests[1], "/storage/cut -");
  EXPECT_EQ(requests[3], "/storage/cut bytes=100000-");
  EXPECT_THAT(listener.lines, testing::Contains(HasSubstr("the connection broke at")));
}

TEST_F(Pull, GoesOnAfterAnInterruption) {
  const Hub hub(content);
  use(hub);
  settings.tries = 1;
  entry.sources = {from_hub("cut")};
  EXPECT_THAT(failure(), HasSubstr("could not pull tiny"));
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::partial);
  EXPECT_EQ(local_model(entry, paths()).bytes, 100000u);
  settings.tries = 4;
  EXPECT_EQ(read_file(run().path), content);
  EXPECT_THAT(hub.requests()[3], EndsWith("bytes=100000-"));
}

TEST_F(Pull, StopsWhenAskedAndKeepsWhatCame) {
  content = some_bytes(30 << 20);
  entry.bytes = content.size();
  entry.sha256 = sum_of(content);
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  listener.on_progress = [this](uint64_t done) { interrupt = interrupt || done > (1u << 20); };
  EXPECT_THROW(run(), PullInterrupted);
  EXPECT_GT(local_model(entry, paths()).bytes, 1u << 20);
  interrupt = false;
  listener.on_progress = [](uint64_t) {};
  EXPECT_EQ(read_file(run().path), content);
}

TEST_F(Pull, BeginsAgainWhereTheFileChangedMeanwhile) {
  Hub hub(some_bytes(300000) + "old");
  use(hub);
  settings.tries = 1;
  entry.sha256.clear();
  entry.sources = {from_hub("cut")};
  failure();
  hub.set_content(content);
  settings.tries = 4;
  EXPECT_EQ(read_file(run().path), content);
}

TEST_F(Pull, ServersWithoutRangesAndBusyOnesAreFine) {
  for (const char* owner : {"rangeless", "busy"}) {
    const Hub hub(content);
    use(hub);
    entry.name = owner;
    entry.sources = {from_hub("cut")};
    settings.tries = 1;
    failure();
    settings.tries = 4;
    entry.sources = {from_hub(owner)};
    EXPECT_EQ(read_file(run().path), content);
  }
}

TEST_F(Pull, AFileWithAnotherHashIsNotUsed) {
  Hub hub(content);
  use(hub);
  content[5] ^= 1;
  hub.set_content(content);
  entry.sources = {from_hub("good")};
  EXPECT_THAT(failure(), HasSubstr("SHA-256"));
  EXPECT_THAT(files(), ElementsAre(".tiny.lock"));
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::available);
}

TEST_F(Pull, WithoutAPinTheHubsOwnHashCountsAndTheModelIsUnverified) {
  const Hub hub(content);
  use(hub);
  entry.sha256.clear();
  entry.sources = {from_hub("liar")};
  EXPECT_THAT(failure(), HasSubstr("SHA-256"));
  entry.sources = {from_hub("good")};
  run();
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::unverified);
  EXPECT_EQ(read_file(paths().models() / "tiny.gguf.sha256"), sum_of(content) + "  tiny.gguf\n");
}

TEST_F(Pull, AFileChangedSinceIsNotTrustedAndPulledAgain) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  const Pulled pulled = run();
  std::ofstream(pulled.path, std::ios::app) << "more";
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::changed);
  EXPECT_EQ(read_file(run().path), content);
  EXPECT_EQ(local_model(entry, paths()).state, ModelState::verified);
}

TEST_F(Pull, TakesNoMoreThanTheCatalogueSays) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("big")};
  EXPECT_THAT(failure(), HasSubstr("where the catalogue says 300000"));
  entry.sha256.clear();
  EXPECT_THAT(failure(), HasSubstr("where the catalogue says 300000"));
}

TEST_F(Pull, StaysOnHttps) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("downgrade")};
  EXPECT_THAT(failure(), HasSubstr("only https is allowed"));
  settings.hub.replace(0, 5, "http");
  EXPECT_THAT(failure(), HasSubstr("only https is allowed"));
}

TEST_F(Pull, AStrangersCertificateIsRefused) {
  const Hub hub(content), stranger(content);
  use(hub);
  settings.certificates = stranger.certificate();
  entry.sources = {from_hub("good")};
  EXPECT_THAT(failure(), HasSubstr("certificate"));
}

TEST_F(Pull, OfflineAndMissingFilesAreSaidInOneLine) {
  Hub hub(content);
  use(hub);
  entry.sources = {from_hub("missing")};
  EXPECT_THAT(failure(), HasSubstr("HTTP 404"));
  hub.stop();
  EXPECT_THAT(failure(), HasSubstr("cannot be reached (offline?)"));
  EXPECT_THAT(failure(), Not(HasSubstr("\n")));
  settings.hub = "https://nowhere.invalid";
  EXPECT_THAT(failure(), HasSubstr("nowhere.invalid"));
}

TEST_F(Pull, TheSecondOfTwoPullsWaits) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  PrivateFolder folder(paths().models());
  Fd lock = folder.open(".tiny.lock", O_RDWR | O_CREAT);
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    lock = Fd();
  });
  EXPECT_EQ(read_file(run().path), content);
  EXPECT_THAT(listener.lines[0], HasSubstr("another process is pulling tiny"));
}

TEST_F(Pull, AFailingWriteIsAnErrorAndThePartIsKept) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  struct rlimit before{}, limit{};
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = 100000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string said = failure();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(said, HasSubstr("File too large"));
  EXPECT_EQ(read_file(run().path), content);
}

TEST_F(Pull, PlantedLinksAndForeignFoldersAreRefused) {
  entry.sources = {from_hub("good")};
  std::filesystem::create_directories(folder / "cache");
  std::filesystem::create_directories(folder / "elsewhere");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "cache/foretoken");
  EXPECT_THAT(failure(), HasSubstr("is a symbolic link"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "elsewhere"));
  std::filesystem::remove(folder / "cache/foretoken");
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away: the foreign one is not tried";
  std::filesystem::create_directories(folder / "cache/foretoken");
  ASSERT_EQ(chown((folder / "cache/foretoken").c_str(), 12345, 12345), 0);
  EXPECT_THAT(failure(), HasSubstr("belongs to another user"));
}

TEST_F(Pull, ALinkInThePlaceOfAFileIsNotFollowed) {
  const Hub hub(content);
  use(hub);
  entry.sources = {from_hub("good")};
  const auto victim = folder.write("victim", "precious");
  PrivateFolder(paths().cache);
  PrivateFolder models(paths().models());
  std::filesystem::create_symlink(victim, paths().models() / "tiny.gguf.hub.part");
  EXPECT_THAT(failure(), HasSubstr("tiny.gguf.hub.part"));
  EXPECT_EQ(read_file(victim), "precious");
}

TEST(Progress, OneLineSaysItAll) {
  EXPECT_EQ(progress_line(211000000, 491000000, 12.3e6, true),
            "[###########---------------]  42%  211 MB of 491 MB  12.3 MB/s  23 s left");
  EXPECT_EQ(progress_line(5, 0, 0, false), "  0%  0 kB of 0 kB");
  EXPECT_LE(progress_line(4681000000, 4683073536, 1, true).size(), 79u);
}

}  // namespace
}  // namespace foretoken::lsp
