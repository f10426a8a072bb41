# SPDX-License-Identifier: Apache-2.0
# The components, and the packages that must be there for each; our own build and find_package(distrib) look for the same.
# What message, isal, tls, http, libtorch and kafka need beyond that is looked for where their targets are made.

set(distrib_components core record rpc tensor same_bits distrib compiled message isal tls http libtorch kafka)
set(distrib_record_needs ZLIB)
set(distrib_rpc_needs asio)
set(distrib_tensor_needs xtensor)
set(distrib_same_bits_needs xtensor)
set(distrib_distrib_needs ZLIB asio xtensor)
set(distrib_compiled_needs ZLIB asio xtensor)
set(distrib_isal_needs ZLIB)
set(distrib_tls_needs asio)
set(distrib_http_needs ZLIB asio)
set(distrib_libtorch_needs ZLIB asio xtensor)
set(distrib_kafka_needs ZLIB asio xtensor)

# Which headers of the rooms stand behind an optional component, as regular expressions of their paths from
# include/distrib: no other component has them. tools/public_headers.py reads these lines.
set(distrib_message_headers "message/")
set(distrib_isal_headers "record/isal[.]hpp")
set(distrib_tls_headers "net/tls/")
set(distrib_http_headers "remote/|remote[.]hpp|data/tfrecords_at|data/url_files|hadoop/webhdfs|spark/webhdfs|train/hooks/report_train_job")
set(distrib_libtorch_headers "libtorch/|libtorch[.]hpp")
set(distrib_kafka_headers "kafka/|kafka[.]hpp")
set(distrib_optional_headers
    "${distrib_message_headers}|${distrib_isal_headers}|${distrib_tls_headers}|${distrib_http_headers}|${distrib_libtorch_headers}|${distrib_kafka_headers}")

set(distrib_name_of_ZLIB "zlib (zlib1g-dev)")
set(distrib_name_of_asio "Asio 1.22 or newer, standalone (libasio-dev)")
set(distrib_name_of_xtensor "xtensor 0.24 or newer (libxtensor-dev)")
