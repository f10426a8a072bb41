// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/piece_stream.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/core/crc32c.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using distrib::Error;
using distrib::StoredTensor;
using distrib::detail::InputFile;
using distrib::detail::PieceStream;
using Checksum = StoredTensor::Checksum;

namespace {

/// A file of 24 bytes, "abcdef..." twice, with streams of pieces of it.
struct Letters {
  Letters() { support::write_file(path, "abcdefghijklmnopqrstuvwx"); }

  [[nodiscard]] auto stream(const StoredTensor::Piece& piece, std::size_t element_bytes = 1) const -> PieceStream {
    Error error;
    auto file = InputFile::open(path, distrib::checkpoint_errc::not_found, error);
    REQUIRE(file);
    return PieceStream{*std::move(file), piece, element_bytes, "the piece"};
  }

  support::TempDirectory directory;
  std::string path = directory / "letters";
};

auto piece_at(std::uint64_t offset, std::uint64_t bytes) -> StoredTensor::Piece {
  return {distrib::Slice::whole({static_cast<std::int64_t>(bytes)}), 0, offset, bytes};
}

/// Reads all of a stream, `most` bytes at a time. Empty on failure.
auto text_of(PieceStream stream, std::size_t most, Error& error) -> std::string {
  std::string text;
  while (stream.left() != 0) {
    std::string some(std::min<std::size_t>(most, static_cast<std::size_t>(stream.left())), ' ');
    if (!stream.read(std::as_writable_bytes(std::span{some}), error)) return {};
    text += some;
  }
  return text;
}

}  // namespace

TEST_CASE("PieceStream: reads a piece in any portions, and verifies its checksum at the end",
          "[checkpoint][piece_stream]") {
  const Letters letters;
  auto piece = piece_at(2, 10);
  for (const Checksum checksum : {Checksum::masked_crc32c, Checksum::crc32, Checksum::none}) {
    const auto bytes = distrib::as_bytes("cdefghijkl");
    piece.checksum = checksum;
    piece.masked_crc = checksum == Checksum::crc32 ? distrib::detail::crc32_extend(0, bytes)
                                                   : distrib::mask_crc(distrib::crc32c(bytes));
    for (const std::size_t most : {1U, 3U, 10U, 100U}) {
      Error error;
      CHECK(text_of(letters.stream(piece), most, error) == "cdefghijkl");
      CHECK_FALSE(error);
    }
    ++piece.masked_crc;
    Error error;
    CHECK(text_of(letters.stream(piece), 3, error).empty() == (checksum != Checksum::none));
    CHECK((error.code == distrib::checkpoint_errc::corrupt_data) == (checksum != Checksum::none));
    if (error) CHECK(error.where == "the piece");
  }
}

TEST_CASE("PieceStream: of a piece without a checksum bytes may be left out", "[checkpoint][piece_stream]") {
  const Letters letters;
  auto piece = piece_at(2, 10);
  CHECK_FALSE(letters.stream(piece).may_skip());
  piece.checksum = Checksum::none;
  auto stream = letters.stream(piece);
  REQUIRE(stream.may_skip());
  stream.skip(4);
  CHECK(stream.left() == 6);
  Error error;
  CHECK(text_of(std::move(stream), 4, error) == "ghijkl");
}

TEST_CASE("PieceStream: a piece that is not row-major is read row-major", "[checkpoint][piece_stream]") {
  const Letters letters;
  const struct {
    distrib::Shape shape;
    std::vector<std::int64_t> strides;
    std::size_t element_bytes;
    const char* expected;
  } cases[] = {
      {{3, 2}, {1, 3}, 1, "cfdgeh"},  // transposed
      {{2, 3}, {6, 2}, 1, "cegikm"},  // every other one
      {{2, 2},
       {2, 3},
       2,
       "cdijgh"
       "mn"},  // elements of two bytes
      {{2, 2, 2}, {1, 4, 2}, 1, "cegidfhj"},
      {{3}, {0}, 1, "ccc"},
      {{0, 2}, {5, 5}, 1, ""},
  };
  for (const auto& c : cases) {
    StoredTensor::Piece piece{distrib::Slice::whole(c.shape), 0, 2,
                              static_cast<std::uint64_t>(c.shape.elements()) * c.element_bytes};
    piece.checksum = Checksum::none;
    piece.strides = c.strides;
    CHECK_FALSE(letters.stream(piece, c.element_bytes).may_skip());
    for (const std::size_t most : {1U, 3U, 100U}) {
      Error error;
      CHECK(text_of(letters.stream(piece, c.element_bytes), most, error) == c.expected);
      CHECK_FALSE(error);
    }
  }
}

TEST_CASE("PieceStream: a file that ends too early is damage", "[checkpoint][piece_stream]") {
  const Letters letters;
  auto piece = piece_at(20, 10);
  Error error;
  CHECK(text_of(letters.stream(piece), 100, error).empty());
  CHECK(error.code == distrib::checkpoint_errc::corrupt_data);
  CHECK_THAT(error.where, ContainsSubstring("letters ends at 24"));
  piece.strides = {2};
  error = {};
  CHECK(text_of(letters.stream(piece), 100, error).empty());
  CHECK(error.code == distrib::checkpoint_errc::corrupt_data);
}
