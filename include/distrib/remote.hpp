// SPDX-License-Identifier: Apache-2.0
// Files over HTTP, in HDFS and in object stores. Needs the component distrib::http, so it is not part of ecosystem.hpp.
#pragma once

#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_file.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/s3/aws_environment.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_file.hpp>
#include <distrib/remote/s3/s3_files.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_sharded_writer.hpp>
#include <distrib/remote/s3/s3_stores.hpp>
#include <distrib/remote/s3/s3_writer.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_file.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_status.hpp>
#include <distrib/remote/webhdfs_writer.hpp>
