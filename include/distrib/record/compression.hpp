// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace distrib {
inline namespace v0 {

/// How a whole record file is wrapped.
enum class Compression {
  none,
  gzip,  ///< RFC 1952; members that follow each other are one stream.
  zlib,  ///< RFC 1950; exactly one stream.
};

/// How hard a compressor works. The defaults are those of TensorFlow's writer.
struct DeflateOptions {
  /// What a compressor looks for, with zlib's numbers. `standard` serves nearly always.
  enum class Strategy {
    standard = 0,
    filtered = 1,      ///< Small values around zero.
    huffman_only = 2,  ///< No matches: fast, and shrinks little.
    run_length = 3,    ///< Runs of one byte only.
    fixed = 4,         ///< No code tables of its own.
  };

  /// What must have come out of a compressor when a call returns with room left.
  enum class Flush {
    none,    ///< Whatever is ready.
    sync,    ///< Everything put in so far can be inflated. Costs size.
    finish,  ///< The stream and its trailer. The last thing to do.
  };

  int level = -1;         ///< -1 (the compressor's choice) .. 9.
  int memory_level = 9;   ///< 1 .. 9; TensorFlow's mem_level.
  int window_bits = 15;   ///< 9 .. 15, with either wrapping: TensorFlow's 31 for gzip is 15 here.
  Strategy strategy = Strategy::standard;
  Flush flush = Flush::none;  ///< What a writer does behind each record; `finish` is refused.
};

}  // namespace v0
}  // namespace distrib
