// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/cut_object_names.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace distrib;

namespace {
const CutObjectNames run_names{"a/run/"};
const ObjectClaim a_claim{12, 0xabc};
const CutKey a_cut{300, 1, 4, a_claim, 7};
const CutKey a_second_cut{300, 1, 4, a_claim, 7, 1};
const RankLogKey a_rank_log{1, 4, a_claim, 7};
const CutKey a_link{300, 1, 4, a_claim, 7, 0, 4};
}  // namespace

TEST_CASE("Names of objects are fixed, because other versions read them") {
  CHECK(run_names.claim(3, a_claim) == "a/run/claims/00003/0000000012-0000000000000abc");
  CHECK(run_names.base(3, a_claim) == "a/run/bases/00003/0000000012-0000000000000abc");
  CHECK(run_names.cut(a_cut) ==
        "a/run/cuts/00000000000000000300/00001-of-00004.0000000012-0000000000000abc.0000000007");
  CHECK(run_names.claim(3, a_claim, 1) == "a/run/claims/00003-r1/0000000012-0000000000000abc");
  CHECK(run_names.cut(a_second_cut) ==
        "a/run/cuts/00000000000000000300/00001-r1-of-00004.0000000012-0000000000000abc.0000000007");
  CHECK(run_names.cut(a_link) ==
        "a/run/cuts/00000000000000000300/00001-of-00004.0000000012-0000000000000abc.0000000007-0000000003");
  CHECK(run_names.checkpoint({300, 0xf00}) == "a/run/model.ckpt-00000000000000000300.0000000000000f00.index");
  CHECK(run_names.preserved(300) == "a/run/keep/00000000000000000300");
  CHECK(run_names.rank_log(a_rank_log) == "a/run/ranks/00001-of-00004.0000000012-0000000000000abc.0000000007");
}

TEST_CASE("Names of objects begin with the directory, which may be the whole bucket") {
  CHECK(CutObjectNames{""}.cuts() == "cuts/");
  CHECK(CutObjectNames{"a//"}.cuts() == "a/cuts/");
  CHECK(CutObjectNames{"a"}.cuts().starts_with(CutObjectNames{"a"}.claims_and_cuts()));
  CHECK(CutObjectNames{"a"}.claims(7, 1).starts_with(CutObjectNames{"a"}.claims_and_cuts()));
  CHECK(run_names.cut(a_cut).starts_with(run_names.cuts_of(300)));
  CHECK(run_names.cuts_of(300).starts_with(run_names.cuts()));
  CHECK(run_names.claim(3, a_claim).starts_with(run_names.claims(3)));
  CHECK(run_names.base(3, a_claim).starts_with(run_names.bases(3)));
  CHECK(run_names.checkpoint({1, 2}).starts_with(run_names.checkpoints()));
  CHECK(run_names.preserved(1).starts_with(run_names.all_preserved()));
}

TEST_CASE("A name of an object is read back") {
  CHECK(run_names.claim_of(run_names.claim(3, a_claim), 3) == a_claim);
  CHECK(run_names.base_of(run_names.base(3, a_claim), 3) == a_claim);
  CHECK(run_names.cut_of(run_names.cut(a_cut)) == a_cut);
  CHECK(run_names.claim_of(run_names.claim(3, a_claim, 1), 3, 1) == a_claim);
  CHECK(run_names.cut_of(run_names.cut(a_second_cut)) == a_second_cut);
  CHECK(run_names.cut_of(run_names.cut(a_link)) == a_link);
  CHECK(a_link.root() == 3);
  CHECK_FALSE(a_link.is_whole());
  const CheckpointKey checkpoint{~Step{0}, ~std::uint64_t{0}};
  CHECK(run_names.checkpoint_of(run_names.checkpoint(checkpoint)) == checkpoint);
  CHECK(run_names.preserved_of(run_names.preserved(~Step{0})) == ~Step{0});
  CHECK(run_names.rank_log_of(run_names.rank_log(a_rank_log)) == a_rank_log);
}

TEST_CASE("Other names of objects are passed over") {
  const std::string claim = run_names.claim(3, a_claim), cut = run_names.cut(a_cut);
  CHECK_FALSE(run_names.claim_of(claim, 4));
  CHECK_FALSE(run_names.base_of(claim, 3));
  CHECK_FALSE(CutObjectNames{"b"}.cut_of(cut));
  CHECK_FALSE(run_names.cut_of(cut + "0"));
  CHECK_FALSE(run_names.cut_of(cut.substr(0, cut.size() - 1)));
  for (const char* const root :
       {"-0000000000", "-0000000007", "-0000000008", "-000000003", "-00000000030", "-", "0000000003"})
    CHECK_FALSE(run_names.cut_of(cut + root));
  CHECK_FALSE(run_names.cut_of(""));
  CHECK_FALSE(run_names.rank_log_of(run_names.rank_log(a_rank_log) + "0"));
  CHECK_FALSE(run_names.rank_log_of("a/run/ranks/00004-of-00004.0000000012-0000000000000abc.0000000007"));
  CHECK_FALSE(run_names.rank_log_of(cut));
  CHECK_FALSE(
      run_names.cut_of("a/run/cuts/00000000000000000300/00004-of-00004.0000000012-0000000000000abc.0000000007"));
  CHECK_FALSE(
      run_names.cut_of("a/run/cuts/99999999999999999999/00001-of-00004.0000000012-0000000000000abc.0000000007"));
  CHECK_FALSE(
      run_names.cut_of("a/run/cuts/-0000000000000000300/00001-of-00004.0000000012-0000000000000abc.0000000007"));
  CHECK_FALSE(run_names.claim_of("a/run/claims/00003/9999999999-0000000000000abc", 3));
  CHECK_FALSE(run_names.claim_of("a/run/claims/00003/0000000012-0000000000000ABC", 3));
  CHECK_FALSE(run_names.preserved_of("a/run/keep/0000000000000000030x"));
  CHECK_FALSE(run_names.claim_of(run_names.claim(3, a_claim, 1), 3));
  CHECK_FALSE(run_names.claim_of(claim, 3, 1));
  for (const char* const shard : {"00001-r0", "00001-r", "00001-r12", "00001-rx", "00001r1"})
    CHECK_FALSE(run_names.cut_of("a/run/cuts/00000000000000000300/" + std::string{shard} +
                                 "-of-00004.0000000012-0000000000000abc.0000000007"));
}

TEST_CASE("Claims and cuts are ordered as their names are") {
  CHECK(ObjectClaim{2, 1} > ObjectClaim{1, 9});
  CHECK(ObjectClaim{2, 2} > ObjectClaim{2, 1});
  const std::vector<CutKey> ascending{{9, 1, 2, {5, 5}, 5},
                                      {10, 0, 2, {1, 1}, 1},
                                      {10, 0, 2, {1, 1}, 10},
                                      {10, 0, 2, {2, 0}, 1},
                                      {10, 1, 2, {1, 1}, 1}};
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    CHECK(ascending[i - 1] < ascending[i]);
    CHECK(run_names.cut(ascending[i - 1]) < run_names.cut(ascending[i]));
  }
}
