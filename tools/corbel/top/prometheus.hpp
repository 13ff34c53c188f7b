// SPDX-License-Identifier: Apache-2.0
// Prometheus: samples in its text format, and a server to scrape them from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "top/heap_sample.hpp"

namespace corbel::cli {

// The text exposition format, version 0.0.4.
std::string to_prometheus(const std::vector<HeapSample>& samples);

struct ScrapeResult {
  std::string text;   // what to_prometheus() returns
  std::string error;  // why there is none, in one line
};

// Serves GET /metrics at `address` ("127.0.0.1:9464", "[::1]:9464", ":9464" or "9464", which mean
// 127.0.0.1). One scrape at a time, each of which calls `scrape`. Returns only when it cannot
// listen, with the reason, or when `scrape` returns an error and `is_over` is true then.
std::string serve_prometheus(const std::string& address,
                             const std::function<ScrapeResult()>& scrape,
                             const std::function<bool()>& is_over);

// What is wrong with `address`; empty if nothing is.
std::string listen_address_problem(const std::string& address);

}  // namespace corbel::cli
