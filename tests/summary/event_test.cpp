// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/event.hpp>

#include <distrib/core/sha256.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"

using distrib::to_hex;
using distrib::WireWriter;

TEST_CASE("event: has the bytes of TensorFlow", "[summary][event]") {
  WireWriter out;
  distrib::write_version_event(out, 1465000000.0);
  CHECK(to_hex(out.view()) == "090000001088d4d5411a0d627261696e2e4576656e743a32");
  distrib::write_scalar_event(out, 1465000001.5, 100, "loss", 0.25f);
  CHECK(to_hex(out.view()) == support::scalar_event_hex);
  distrib::write_scalar_event(out, 1465000001.5, 100, "loss", 0.25f, distrib::ScalarForm::simple_value);
  CHECK(to_hex(out.view()) == "090000601088d4d54110642a0d0a0b0a046c6f7373150000803e");
  distrib::write_session_event(out, 1465000002.0, 100, distrib::SessionStatus::checkpoint, "/t/model.ckpt");
  CHECK(to_hex(out.view()) == "090000801088d4d54110643a110803120d2f742f6d6f64656c2e636b7074");
  distrib::write_session_event(out, 1465000002.0, 0, distrib::SessionStatus::start);
  CHECK(to_hex(out.view()) == "090000801088d4d5413a020801");
}
