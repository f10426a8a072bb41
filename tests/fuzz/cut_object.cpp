// SPDX-License-Identifier: Apache-2.0
#include "targets.hpp"

#include "expect.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace fuzz {

void cut_object(ByteView input) {
  const std::string_view text = distrib::as_text(input);
  const distrib::CutObjectNames names{""};
  if (const auto key = names.cut_of(text)) expect(names.cut(*key) == text, "a name of a cut is written as it was read");
  if (const auto key = names.checkpoint_of(text))
    expect(names.checkpoint(*key) == text, "a name of an index is written as it was read");
  if (const auto claim = names.claim_of(text, 0))
    expect(names.claim(0, *claim) == text, "a name of a claim is written as it was read");
  if (const auto step = names.preserved_of(text))
    expect(names.preserved(*step) == text, "a name of a mark is written as it was read");

  if (const auto owner = distrib::parse_claim(input))
    expect(distrib::as_text(distrib::encode_claim(*owner)) == text, "a claim is written as it was read");

  distrib::Error error;
  const auto tail = distrib::parse_cut_footer(input, input.size(), error);
  if (!error) {
    expect(tail.table_offset + tail.table_bytes + distrib::CutTail::footer_bytes == input.size(), "a cut has no gap");
    const auto index = distrib::parse_cut_table(input, tail, 0, 2, error);
    if (!error)
      for (const auto& tensor : index.tensors)
        for (const auto& piece : tensor.pieces)
          expect(piece.offset <= input.size() && piece.size_bytes <= input.size() - piece.offset,
                 "a tensor lies in its cut");
  }

  const auto cuts = distrib::parse_checkpoint_index(input, error);
  expect(error ? cuts.empty() : !cuts.empty(), "an index names cuts, or is refused");
  for (std::uint32_t shard = 0; shard < cuts.size(); ++shard)
    expect(cuts[shard].key.shard == shard && cuts[shard].key.shards == cuts.size() &&
               cuts[shard].key.step == cuts[0].key.step,
           "the cuts of an index belong together");
}

}  // namespace fuzz
