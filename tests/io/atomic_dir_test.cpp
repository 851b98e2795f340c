#include "io/atomic_dir.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "io/completion_marker.h"
#include "io/test_files.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::small_file;
using test::TempFolder;
using test::write_text;

void fill(const fs::path& stage, std::string_view content) {
  write_text(stage / "model.safetensors", small_file({"a", "b"}));
  fs::create_directory(stage / "tokenizer");
  write_text(stage / "tokenizer" / "vocab.txt", content);
}

void save(const fs::path& folder, std::string_view content, AtomicDir::Options options = {}) {
  AtomicDir atomic(folder, std::move(options));
  fill(atomic.stage(), content);
  atomic.commit();
}

/// Empty when there is no complete folder.
std::string saved_content(const fs::path& folder) {
  if (!is_complete(folder)) return "";
  verify_complete(folder);
  return read_file(folder / "tokenizer" / "vocab.txt");
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// The exit status of a child that runs `action`; 42 for an Error{io}.
int in_child(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      action();
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::io ? 42 : 43);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(AtomicDir, CommitsAndListsEveryFile) {
  const TempFolder folder;
  save(folder / "checkpoint-1/", "new");
  EXPECT_EQ(saved_content(folder / "checkpoint-1"), "new");
  const auto files = read_marker(folder / "checkpoint-1");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].name, "tokenizer/vocab.txt");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"checkpoint-1"}));
}

TEST(AtomicDir, ReplacesWhatItWrote) {
  const TempFolder folder;
  save(folder / "out", "old");
  save(folder / "out", "new");
  EXPECT_EQ(saved_content(folder / "out"), "new");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out"}));
}

TEST(AtomicDir, ReplacesAnEmptyFolderButNoForeignOne) {
  const TempFolder folder;
  fs::create_directory(folder / "out");
  save(folder / "out", "new");
  EXPECT_EQ(saved_content(folder / "out"), "new");
  fs::create_directory(folder / "home");
  write_text(folder / "home" / "thesis.txt", "dear");
  expect_error(ErrorKind::io, {"home", "not replaced"}, [&] { AtomicDir atomic(folder / "home"); });
  EXPECT_TRUE(fs::exists(folder / "home" / "thesis.txt"));
}

TEST(AtomicDir, AnythingButCommitLeavesNothing) {
  const TempFolder folder;
  {
    AtomicDir atomic(folder / "out");
    fill(atomic.stage(), "x");
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

/// How an existing folder is replaced: the steps of which one is fatal, and the first after which
/// the new folder stands.
struct Replacement {
  bool exchange_names;
  std::vector<std::string_view> steps;
};
const Replacement kReplacements[] = {
    {true, {"sync files", "verify", "write marker", "rename", "sync parent", "remove replaced"}},
    {false,
     {"sync files", "verify", "write marker", "rename", "between renames", "sync parent",
      "remove replaced"}}};

std::string expected_after(std::string_view fatal) {
  return fatal == "sync parent" || fatal == "remove replaced" ? "new" : "old";
}

TEST(AtomicDir, AnExceptionAtAnyStepLeavesOldOrNew) {
  for (const Replacement& replacement : kReplacements)
    for (const std::string_view fatal : replacement.steps) {
      const TempFolder folder;
      save(folder / "out", "old");
      const auto stop = [&](std::string_view step) {
        if (step == fatal) throw std::runtime_error("now");
      };
      EXPECT_THROW(save(folder / "out", "new", {stop, replacement.exchange_names}),
                   std::runtime_error);
      EXPECT_EQ(saved_content(folder / "out"), expected_after(fatal)) << fatal;
      recover_atomic_dir(folder / "out");
      EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out"})) << fatal;
    }
}

TEST(AtomicDir, KilledAtAnyStepLeavesOldOrNew) {
  for (const Replacement& replacement : kReplacements)
    for (const std::string_view fatal : replacement.steps) {
      const TempFolder folder;
      save(folder / "out", "old");
      const auto stop = [&](std::string_view step) {
        if (step == fatal) ::raise(SIGKILL);
      };
      const int status = in_child([&] {
        save(folder / "out", "new", {stop, replacement.exchange_names});
      });
      ASSERT_EQ(status, -SIGKILL) << fatal;
      recover_atomic_dir(folder / "out");
      EXPECT_EQ(saved_content(folder / "out"), expected_after(fatal)) << fatal;
      EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out"})) << fatal;
    }
}

TEST(AtomicDir, KilledWhileStagingOrOnTheFirstSave) {
  for (const std::string_view fatal : {"stage", "verify", "rename"}) {
    const TempFolder folder;
    in_child([&] {
      AtomicDir atomic(folder / "out", {[&](std::string_view step) {
                         if (step == fatal) ::raise(SIGKILL);
                       }});
      fill(atomic.stage(), "half");
      if (fatal == "stage") ::raise(SIGKILL);
      atomic.commit();
    });
    EXPECT_EQ(names_in(folder.path()).size(), 1u);
    EXPECT_EQ(recover_atomic_dir(folder / "out").size(), 1u) << fatal;
    EXPECT_TRUE(names_in(folder.path()).empty()) << fatal;
  }
}

TEST(AtomicDir, KilledAtRandomMoments) {
  const TempFolder folder;
  save(folder / "out", "0");
  for (int round = 1; round <= 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) save(folder / "out", format("{}", i));
    }
    ::usleep(static_cast<useconds_t>(500 + 1461 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    recover_atomic_dir(folder / "out");
    ASSERT_NE(saved_content(folder / "out"), "") << round;
    ASSERT_EQ(names_in(folder.path()).size(), 1u) << round;
  }
}

/// Where names cannot be exchanged in one step, a run can die between its two renames.
TEST(AtomicDir, AHalfDoneReplacementIsUndone) {
  const TempFolder folder;
  save(folder / "out", "old");
  fs::rename(folder / "out", folder / "out.old-123-0");
  EXPECT_EQ(recover_atomic_dir(folder / "out").size(), 1u);
  EXPECT_EQ(saved_content(folder / "out"), "old");
  save(folder / "out.old-123-0", "older");
  recover_atomic_dir(folder / "out");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out"}));
}

TEST(AtomicDir, StagesOfLiveRunsAndOtherNamesAreLeftAlone) {
  const TempFolder folder;
  AtomicDir live(folder / "out");
  fill(live.stage(), "mine");
  fs::create_directory(folder / "out.tmp-notes");
  fs::create_directory(folder / "out2.tmp-1-0");
  EXPECT_TRUE(recover_atomic_dir(folder / "out").empty());
  save(folder / "out", "other");
  live.commit();
  EXPECT_EQ(saved_content(folder / "out"), "mine");
  EXPECT_TRUE(fs::exists(folder / "out.tmp-notes") && fs::exists(folder / "out2.tmp-1-0"));
}

TEST(AtomicDir, AFullDiskIsAnErrorAndTouchesNothing) {
  const TempFolder folder;
  save(folder / "out", "old");
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    save(folder / "out", std::string(20'000, 'n'));
  });
  EXPECT_EQ(status, 42);
  EXPECT_EQ(saved_content(folder / "out"), "old");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out"}));
}

TEST(AtomicDir, ADiskThatIsFullOnlyForTheMarker) {
  const TempFolder folder;
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    save(folder / "out", "x", {[](std::string_view step) {
           const rlimit limit = {20, 20};
           if (step == "write marker") ::setrlimit(RLIMIT_FSIZE, &limit);
         }});
  });
  EXPECT_EQ(status, 42);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(AtomicDir, NamesTheFolderItMayNotWrite) {
  const TempFolder folder;
  write_text(folder / "file", "x");
  expect_error(ErrorKind::io, {"file"}, [&] { AtomicDir atomic(folder / "file" / "out"); });
  if (::geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ErrorKind::io, {"out", "Permission denied"},
               [&] { AtomicDir atomic(folder / "out"); });
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(AtomicDir, DamageIsSeen) {
  const TempFolder folder;
  const fs::path out = folder / "out";
  save(out, "content");
  write_text(out / "extra.txt", "added later");
  EXPECT_TRUE(is_complete(out));
  write_text(out / "tokenizer" / "vocab.txt", "CONTENT");
  EXPECT_TRUE(is_complete(out)) << "the size is the same";
  expect_error(ErrorKind::corrupt_input, {"vocab.txt", "checksum"}, [&] { verify_complete(out); });
  write_text(out / "tokenizer" / "vocab.txt", "short");
  EXPECT_FALSE(is_complete(out));
  expect_error(ErrorKind::corrupt_input, {"vocab.txt", "5 bytes"}, [&] { verify_complete(out); });
  fs::remove(out / "tokenizer" / "vocab.txt");
  EXPECT_FALSE(is_complete(out));
  write_text(out / kMarkerName, "{");
  EXPECT_FALSE(is_complete(out));
  EXPECT_FALSE(is_complete(folder / "nowhere"));
}

TEST(AtomicDir, RefusesToCommitABrokenCheckpoint) {
  const TempFolder folder;
  AtomicDir atomic(folder / "out");
  write_text(atomic.stage() / "model.safetensors", "not one");
  EXPECT_THROW(atomic.commit(), Error);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(CompletionMarker, ChecksumSeesWhatCancelsInASimplerOne) {
  const TempFolder folder;
  const auto checksum = [&](const std::string& bytes) {
    write_text(folder / "f", bytes);
    return file_checksum(folder / "f");
  };
  const std::string zeros(64, '\0');
  std::string two_top_bits = zeros;
  two_top_bits[7] = two_top_bits[31] = '\x80';
  EXPECT_NE(checksum(zeros), checksum(two_top_bits));
  EXPECT_NE(checksum(zeros), checksum(std::string(63, '\0')));
  EXPECT_NE(checksum(""), checksum(std::string(1, '\0')));
}

TEST(WriteFileAtomic, ReplacesAndCleansUp) {
  const TempFolder folder;
  write_file_atomic(folder / "state.json", "old");
  write_file_atomic(folder / "state.json", "new");
  EXPECT_EQ(read_file(folder / "state.json"), "new");
  fs::create_directory(folder / "taken");
  write_text(folder / "taken" / "x", "");
  expect_error(ErrorKind::io, {"taken"}, [&] { write_file_atomic(folder / "taken", "x"); });
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

}  // namespace
}  // namespace lemnos
