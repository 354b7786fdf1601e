/**
 * @file run_settings.hpp
 *
 * What an algorithm is told besides the problem.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_RUN_SETTINGS_HPP
#define DASGD_ALGORITHMS_RUN_SETTINGS_HPP

#include "../core/history.hpp"
#include "../core/rank_report.hpp"
#include "../core/topology.hpp"
#include "../wire/format.hpp"

namespace dasgd {

//! How ranks are connected, and what to keep of a run.
struct RunSettings
{
  const Topology& topology;
  //! Frames under way to each neighbour.
  size_t window = 2;
  //! Where to note what this rank does, or null.
  RankHistory* history = nullptr;
  //! How updates are written.
  WireFormat format = WireFormat::Exact;
  //! Where to show this rank's counts while it runs, or null.
  const RankReport** live = nullptr;
  //! Do ranks have to share cores with each other?
  bool crowded = true;
  //! Are frames lent to ranks on the same machine?
  bool sharedMemory = true;
};

} // namespace dasgd

#endif
