// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/net/io_pool.hpp>
#include <distrib/remote/http_options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which kind of server answers the requests of WebHDFS.
enum class WebHdfsServer : std::uint8_t {
  namenode,  ///< A name node, which redirects to data nodes.
  httpfs,  ///< HttpFS, port 14000: it has the data itself, and needs the bytes of a file with the first request.
};

/// How HDFS is accessed. Empty fields are not sent.
struct WebHdfsOptions {
  /// URLs of the name nodes, of HttpFS, or of a gateway, such as "http://nn1:9870"; a path in the URL is put before
  /// "/webhdfs/v1". They are asked in turn until one is active. Empty: the host of the file's URL.
  std::vector<std::string> namenodes = {};
  WebHdfsServer server = WebHdfsServer::namenode;
  /// The parameter user.name: the user of the requests. Only clusters without authentication accept it.
  std::string user = {};
  std::string token = {};  ///< A delegation token, as `hdfs fetchdt` prints it. If there is one, `user` is not sent.
  std::string act_as = {};  ///< The parameter doas: a gateway makes the requests as this user.
  HttpOptions http = {};  ///< Timeouts and certificates.
  HttpRetryOptions retry = {};  ///< How often a request is tried.
  std::size_t piece_bytes = 8 << 20;  ///< Bytes that one request asks for.
  std::size_t pieces_ahead = 4;  ///< Pieces fetched at once with a pool. Memory: this many times `piece_bytes`.
  /// Threads that fetch ahead. Each piece makes one of them wait for the network, so use a pool only for this. It must
  /// outlive everything made with these options. Null: the reader fetches each piece when it is read.
  IoPool* pool = nullptr;
};

}  // namespace v0
}  // namespace distrib
