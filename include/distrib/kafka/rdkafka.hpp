// SPDX-License-Identifier: Apache-2.0
// The door to librdkafka, part of the optional component distrib::kafka.
#pragma once

#include <librdkafka/rdkafka.h>

#if RD_KAFKA_VERSION < 0x020000ff
#error "distrib: the component kafka needs librdkafka 2.0 or newer (librdkafka-dev)"
#endif
