// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http.
#pragma once

#include <distrib/net/io_pool.hpp>
#include <distrib/remote/http_options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which server speaks WebHDFS.
enum class WebHdfsServer : std::uint8_t {
  namenode,  ///< It redirects to data nodes.
  httpfs,    ///< HttpFS, port 14000: it has the bytes itself, and wants those of a file with the first request.
};

/// How HDFS is spoken to. What is empty is not sent.
struct WebHdfsOptions {
  /// URLs of the name nodes, or of HttpFS or a gateway, as "http://nn1:9870"; a path in it comes before "/webhdfs/v1".
  /// Asked in turn until one is active. Empty: the host of the URL of the file.
  std::vector<std::string> namenodes = {};
  WebHdfsServer server = WebHdfsServer::namenode;
  std::string user = {};  ///< user.name: who asks, where the cluster believes that.
  std::string token = {};  ///< A delegation token, in the form of `hdfs fetchdt`. Then `user` is not sent.
  std::string act_as = {};  ///< doas: whom a gateway asks for.
  HttpOptions http = {};
  HttpRetryOptions retry = {};
  std::size_t piece_bytes = 8 << 20;  ///< Read in one request.
  std::size_t pieces_ahead = 4;  ///< Fetched at a time, with a pool; so many `piece_bytes` are held in memory.
  /// Threads that fetch ahead, one of which waits for the network for each piece: a pool of its own, which outlives
  /// what was made with these options. Null: the reader fetches when it reads.
  IoPool* pool = nullptr;
};

}  // namespace v0
}  // namespace distrib
