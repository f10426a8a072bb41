// SPDX-License-Identifier: Apache-2.0
#pragma once

// The function bodies of net/. A program that defines DISTRIB_SEPARATE_COMPILATION includes this in one of its units.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/net/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/net/detail/impl/peer_handshake.ipp>
#include <distrib/net/impl/address.ipp>
#include <distrib/net/impl/descriptor_limit.ipp>
#include <distrib/net/impl/io_pool.ipp>
#include <distrib/net/impl/page_core.ipp>
#include <distrib/net/impl/page_server.ipp>
#include <distrib/net/impl/peer_connector.ipp>
#include <distrib/net/impl/peer_listener.ipp>
#include <distrib/net/impl/signals.ipp>
#include <distrib/net/impl/transport.ipp>
#include <distrib/net/impl/transport_refresh.ipp>
