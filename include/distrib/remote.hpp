// SPDX-License-Identifier: Apache-2.0
// Files over HTTP and in HDFS. Of the component distrib::http, so not part of ecosystem.hpp.
#pragma once

#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_file.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_answer.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_file.hpp>
#include <distrib/remote/webhdfs_url.hpp>
#include <distrib/remote/webhdfs_writer.hpp>
