// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The functions of a plugin, which its function `plugin` returns. Each returns true if all went well.
struct Plugin {
  bool (*train)();                    ///< Runs the training example in the current directory.
  bool (*messages)();                 ///< Writes and reads a message that contains a message of the library.
  bool (*call)(unsigned short port);  ///< Calls a server in this process.
  bool (*serve)(decltype(call) use);  ///< Starts a server, and lets `use` call it.
};
