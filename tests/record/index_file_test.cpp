// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/index_file.hpp>

#include "record/files.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <random>

using distrib::open_index;
using distrib::record_errc;
using distrib::RecordIndex;

namespace {

/// A directory with a record file and the index kept beside it.
struct Kept {
  explicit Kept(std::uint32_t seed = 1) : file{support::ordinary_file(seed, 20, 50)} {
    support::write_file(path, file.bytes);
    CHECK(open_index(path, {.keep = true}).size() == file.records());
    index = support::read_file(index_path);
    REQUIRE(index.size() == 64 + 8 * file.records() + 4);
  }

  /// Writes other bytes into the record file, but keeps its time of change.
  void change_unseen(const std::string& bytes) const {
    struct ::stat before{};
    REQUIRE(::stat(path.c_str(), &before) == 0);
    support::write_file(path, bytes);
    const ::timespec times[2] = {before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  }

  [[nodiscard]] auto is_believed() const -> bool { return distrib::detail::load_index(path).has_value(); }

  support::TempDirectory directory;
  std::string path = directory / "train.tfrecord";
  std::string index_path = directory / ".train.tfrecord.index";
  support::RandomFile file;
  std::string index;
};

void check_same(const RecordIndex& index, const support::RandomFile& file) {
  REQUIRE(index.offsets().size() == file.offsets.size());
  CHECK(std::equal(file.offsets.begin(), file.offsets.end(), index.offsets().begin()));
  for (std::size_t i = 0; i < index.size(); ++i) CHECK_NOTHROW(index.at(i));
}

}  // namespace

TEST_CASE("open_index: the index is kept beside the file if asked for, and then used", "[record][index_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "a.tfrecord";
  const support::RandomFile file = support::ordinary_file(7, 50, 100);
  support::write_file(path, file.bytes);
  CHECK(distrib::index_file_path(path) == (directory / ".a.tfrecord.index").string());
  CHECK(distrib::index_file_path("a.tfrecord") == "./.a.tfrecord.index");

  check_same(open_index(path), file);
  CHECK_FALSE(std::filesystem::exists(distrib::index_file_path(path)));
  check_same(open_index(path, {.keep = true}), file);
  CHECK(std::filesystem::exists(distrib::index_file_path(path)));
  REQUIRE(distrib::detail::load_index(path));
  check_same(*distrib::detail::load_index(path), file);
  check_same(open_index(path), file);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{directory.path()}) ++files;
  CHECK(files == 2);  // no temporary file is left
}

TEST_CASE("open_index: an empty file", "[record][index_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "empty";
  support::write_file(path, "");
  CHECK(open_index(path, {.keep = true}).size() == 0);
  REQUIRE(distrib::detail::load_index(path));
  CHECK(distrib::detail::load_index(path)->size() == 0);
  CHECK(std::filesystem::file_size(distrib::index_file_path(path)) == 68);
}

TEST_CASE("open_index: a damaged index is never trusted, and is replaced", "[record][index_file]") {
  const Kept kept;
  REQUIRE(kept.is_believed());
  for (std::size_t cut = 0; cut < kept.index.size(); ++cut) {
    support::write_file(kept.index_path, kept.index.substr(0, cut));
    CHECK_FALSE(kept.is_believed());
  }
  for (std::size_t at = 0; at < kept.index.size(); ++at) {
    std::string flipped = kept.index;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    support::write_file(kept.index_path, flipped);
    CHECK_FALSE(kept.is_believed());
  }
  support::write_file(kept.index_path, kept.index + "x");
  CHECK_FALSE(kept.is_believed());
  check_same(open_index(kept.path), kept.file);
  CHECK_FALSE(kept.is_believed());
  check_same(open_index(kept.path, {.keep = true}), kept.file);
  CHECK(kept.is_believed());
  CHECK(support::read_file(kept.index_path) == kept.index);
}

TEST_CASE("open_index: an index with wrong numbers and a valid checksum", "[record][index_file]") {
  const Kept kept;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string lie = kept.index;
    const std::size_t word = 8 * (random() % (lie.size() / 8));
    std::uint64_t value = distrib::load_le<std::uint64_t>(distrib::as_bytes(lie).data() + word);
    const std::uint64_t values[] = {value + 1,
                                    value - 1,
                                    value + 16,
                                    0,
                                    ~std::uint64_t{0},
                                    std::uint64_t{1} << 40,
                                    (std::uint64_t{1} << 61) + value,
                                    kept.file.bytes.size()};
    value = values[random() % std::size(values)];
    std::memcpy(lie.data() + word, &value, 8);
    if (lie == kept.index) continue;
    const std::uint32_t crc = distrib::crc32c(distrib::as_bytes(std::string_view{lie}.substr(0, lie.size() - 4)));
    std::memcpy(lie.data() + lie.size() - 4, &crc, 4);
    support::write_file(kept.index_path, lie);
    const std::optional<RecordIndex> index = distrib::detail::load_index(kept.path);
    if (!index || lie == kept.index) continue;
    // The wrong end lies between its neighbours: it is noticed when the two records beside it are read.
    CHECK(word >= 64);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < index->size(); ++i) {
      std::error_code ec;
      const distrib::Record record = index->at(i, ec);
      if (ec) {
        CHECK(ec == record_errc::corrupt_length);
        ++refused;
      } else {
        CHECK(record.offset == kept.file.offsets[i]);
      }
    }
    CHECK(refused == 2);
  }
}

TEST_CASE("open_index: an index of another state of the file is not trusted", "[record][index_file]") {
  SECTION("the file is longer") {
    const Kept kept;
    kept.change_unseen(kept.file.bytes + support::framed("more"));
    CHECK_FALSE(kept.is_believed());
    CHECK(open_index(kept.path).size() == 21);
  }
  SECTION("the file is shorter") {
    const Kept kept;
    kept.change_unseen(kept.file.bytes.substr(0, kept.file.offsets[10]));
    CHECK_FALSE(kept.is_believed());
    CHECK(open_index(kept.path, {.keep = true}).size() == 10);
    CHECK(kept.is_believed());
  }
  SECTION("same size, another time of change") {
    const Kept kept;
    const ::timespec times[2] = {{1, 0}, {1, 1}};
    REQUIRE(::utimensat(AT_FDCWD, kept.path.c_str(), times, 0) == 0);
    CHECK_FALSE(kept.is_believed());
  }
  SECTION("same size and time, another first record") {
    const Kept kept;
    std::string other = kept.file.bytes;
    other[0] = static_cast<char>(other[0] + 1);
    kept.change_unseen(other);
    CHECK_FALSE(kept.is_believed());
    std::error_code ec;
    CHECK(open_index(kept.path, {}, ec).size() == 0);
    CHECK(ec == record_errc::corrupt_length);
  }
  SECTION("same size and time, another last record") {
    const Kept kept;
    std::string other = kept.file.bytes;
    char& length = other[kept.file.offsets[19]];
    length = static_cast<char>(length + 1);
    kept.change_unseen(other);
    CHECK_FALSE(kept.is_believed());
  }
  SECTION("an index of another file") {
    const Kept kept;
    const Kept other{2};
    support::write_file(kept.index_path, other.index);
    CHECK_FALSE(kept.is_believed());
    check_same(open_index(kept.path), kept.file);
  }
}

TEST_CASE("open_index: fails if the record file cannot be indexed", "[record][index_file]") {
  const support::TempDirectory directory;
  std::error_code ec;
  CHECK(open_index(directory / "missing", {}, ec).size() == 0);
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK_THROWS_WITH(open_index(support::fixture("truncated_payload.tfrecord")),
                    ContainsSubstring("record 4 at offset 5196: the file ends inside the payload of a record"));
  support::write_file(directory / "bad", support::framed("a") + "rest");
  distrib::Error error;
  CHECK(open_index(directory / "bad", {.keep = true}, error).size() == 0);
  CHECK(error.code == record_errc::truncated_header);
  CHECK_FALSE(std::filesystem::exists(distrib::index_file_path(directory / "bad")));
  // A directory has the name of the index: no index is kept, and nothing fails.
  support::write_file(directory / "a", support::framed("a"));
  std::filesystem::create_directory(distrib::index_file_path(directory / "a"));
  CHECK(open_index(directory / "a", {.keep = true}).size() == 1);
}

TEST_CASE("write_index_file: writes offsets that are known without reading the file", "[record][index_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "a";
  const support::RandomFile file = support::ordinary_file(3, 9, 30);
  support::write_file(path, file.bytes);
  distrib::write_index_file(path, file.offsets);
  REQUIRE(distrib::detail::load_index(path));
  check_same(*distrib::detail::load_index(path), file);

  std::error_code ec;
  distrib::write_index_file(path, std::span{file.offsets}.first(4), ec);
  CHECK(ec == record_errc::bad_index);
  distrib::write_index_file(path, {}, ec);
  CHECK(ec == record_errc::bad_index);
  const std::uint64_t wrong[] = {0, file.bytes.size() - 3, file.bytes.size()};
  distrib::write_index_file(path, wrong, ec);
  CHECK(ec == record_errc::bad_index);
  CHECK_THROWS_WITH(distrib::write_index_file(path, wrong), ContainsSubstring(".a.index: the index does not fit"));
  distrib::write_index_file(directory / "missing", file.offsets, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  REQUIRE(distrib::detail::load_index(path));  // the index from before still exists
}
