// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_file.hpp"
#include "memory_file.hpp"
#include "targets.hpp"

#include "support/temp_directory.hpp"

#include <distrib/core/crc32c.hpp>
#include <distrib/record/dali_index.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/record_index.hpp>

#include <fstream>
#include <string>

namespace fuzz {

namespace {

void write_file(const std::string& path, ByteView bytes) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

auto file_bytes(const std::string& path) -> Bytes {
  const distrib::MappedFile file{path};
  return {file.bytes().begin(), file.bytes().end()};
}

/// An undamaged record file, and the index that is kept beside it.
struct Kept {
  Kept() {
    Bytes file;
    for (std::size_t i = 0; i < 20; ++i) {
      const Bytes payload(i * 7 % 23, std::byte{1});
      const auto header = distrib::encode_record_header(payload.size());
      const auto footer = distrib::encode_record_footer(payload);
      for (const ByteView part : {ByteView{header}, ByteView{payload}, ByteView{footer}})
        file.insert(file.end(), part.begin(), part.end());
    }
    write_file(path, file);
    const distrib::RecordIndex index{path};
    distrib::write_index_file(path, index.offsets());
    kept = file_bytes(distrib::index_file_path(path));
    size = index.size();
  }

  support::TempDirectory directory;
  std::string path = (directory / "records").string();
  Bytes kept;
  std::size_t size = 0;
};

/// Asks an index for all its records. Returned records must be valid.
void ask(const distrib::RecordIndex& index, std::size_t bytes) {
  expect(index.size() <= bytes / distrib::record_frame_bytes, "no more records than the file has room for");
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::error_code ec;
    const distrib::Record record = index.at(i, ec);
    expect(ec || record.offset + distrib::record_frame_bytes + record.bytes.size() <= bytes,
           "a record lies in the file");
  }
  std::error_code ec;
  static_cast<void>(index.at(index.size(), ec));
  expect(static_cast<bool>(ec), "there is no record after the last");
}

/// Checks that the index beside a file is used only if it is right.
void sidecar(const Kept& kept, Bytes index) {
  write_file(distrib::index_file_path(kept.path), index);
  std::error_code ec;
  const distrib::RecordIndex opened = distrib::open_index(kept.path, {}, ec);
  expect(!ec && opened.size() == kept.size, "an index that is damaged counts as none");
}

}  // namespace

void index(ByteView input) {
  static const Kept kept;
  if (input.empty()) return;
  const ByteView rest = input.subspan(1);
  switch (static_cast<unsigned>(input[0]) % 4) {
    case 0: return sidecar(kept, Bytes{rest.begin(), rest.end()});
    case 1: {  // the right index, changed in some bytes, with a corrected checksum
      Bytes changed = kept.kept;
      for (std::size_t i = 0; i + 1 < rest.size(); i += 2) {
        const auto place = static_cast<std::size_t>(rest[i]) % (changed.size() - 4);
        if (place < 64) changed[place] ^= rest[i + 1];  // bytes that bind it to its file: the change must be noticed
      }
      distrib::store_le(changed.data() + changed.size() - 4,
                        distrib::crc32c(ByteView{changed}.first(changed.size() - 4)));
      return sidecar(kept, changed);
    }
    case 2: {  // the text of a DALI index
      const MemoryFile text{rest};
      distrib::Error error;
      const auto found = distrib::read_dali_index(kept.path, text.path(), error);
      expect(found.has_value() != static_cast<bool>(error), "an index or a failure");
      if (found) ask(*found, distrib::MappedFile{kept.path}.bytes().size());
      return;
    }
    default: {  // an index built from headers
      const MadeFile script{rest};
      const MemoryFile file{script.bytes()};
      std::error_code ec;
      const distrib::RecordIndex built{file.path(), ec};
      if (!ec) ask(built, script.bytes().size());
      return;
    }
  }
}

}  // namespace fuzz
