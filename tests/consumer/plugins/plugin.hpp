// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a plugin offers, as its function `plugin`. Each says whether all was well.
struct Plugin {
  bool (*train)();                    ///< The example, in the current directory.
  bool (*messages)();                 ///< Writes and reads a message that holds one of the library's.
  bool (*call)(unsigned short port);  ///< Calls a server in this process.
  bool (*serve)(decltype(call) use);  ///< Lets `use` call a server of its own.
};
