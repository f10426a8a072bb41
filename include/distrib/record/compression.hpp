// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace distrib {
inline namespace v0 {

/// How a record file is compressed, as a whole.
enum class Compression {
  none,
  gzip,  ///< RFC 1952. Several members, one after another, count as one stream.
  zlib,  ///< RFC 1950. Exactly one stream.
};

/// Settings of a compressor. The defaults are the same as in TensorFlow's writer.
struct DeflateOptions {
  /// How the compressor looks for repetitions, with zlib's numbers. `standard` is nearly always the right choice.
  enum class Strategy {
    standard = 0,
    filtered = 1,  ///< For small values around zero.
    huffman_only = 2,  ///< Looks for no repetitions: fast, but the data shrinks little.
    run_length = 3,  ///< Looks only for runs of the same byte.
    fixed = 4,  ///< Uses fixed Huffman codes, not codes made for the data.
  };

  /// What a call of `deflate` must have written when it returns with space left in `out`.
  enum class Flush {
    none,  ///< As much as is ready.
    sync,  ///< Everything that was put in so far, so that it can be inflated. The result is larger.
    finish,  ///< The rest of the stream, and its trailer. Nothing may follow except `reset()`.
  };

  int level = -1;  ///< -1 .. 9; -1: the compressor chooses.
  int memory_level = 9;  ///< 1 .. 9. TensorFlow calls it mem_level.
  int window_bits = 15;  ///< 9 .. 15, both for gzip and for zlib: TensorFlow's 31 for gzip is 15 here.
  Strategy strategy = Strategy::standard;  ///< How it looks for repetitions.
  /// What a writer does after each record: `none` or `sync`. `finish` is refused with
  /// `record_errc::bad_deflate_option`.
  Flush flush = Flush::none;
};

}  // namespace v0
}  // namespace distrib
