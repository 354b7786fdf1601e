/**
 * @file log.hpp
 *
 * mlpack's Log::Info and Log::Warn are different objects in every file that is
 * compiled; this switches all of them at once.  Part of the precompiled header,
 * so that no file is forgotten.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_LOG_HPP
#define DASGD_BINDINGS_TERMINAL_LOG_HPP

#include <mlpack/core.hpp>

#include <utility>
#include <vector>

namespace dasgd {
namespace cli {

//! The streams for information and for warnings of all files.
inline std::vector<std::pair<mlpack::util::PrefixedOutStream*,
    mlpack::util::PrefixedOutStream*>>& LogStreams()
{
  static std::vector<std::pair<mlpack::util::PrefixedOutStream*,
      mlpack::util::PrefixedOutStream*>> streams;
  return streams;
}

//! Should information and warnings be printed?
inline void SwitchLog(const bool information, const bool warnings)
{
  for (const auto& streams : LogStreams())
  {
    streams.first->ignoreInput = !information;
    streams.second->ignoreInput = !warnings;
  }
}

namespace {

//! Adds the streams of the file that includes this one.
struct LogStreamsOfFile
{
  LogStreamsOfFile()
  { LogStreams().emplace_back(&mlpack::Log::Info, &mlpack::Log::Warn); }
};
const LogStreamsOfFile logStreamsOfFile;

} // namespace

} // namespace cli
} // namespace dasgd

#endif
