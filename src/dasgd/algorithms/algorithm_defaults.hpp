/**
 * @file algorithm_defaults.hpp
 *
 * What an algorithm is told besides its task, and what most of them have in
 * common.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_ALGORITHM_DEFAULTS_HPP
#define DASGD_ALGORITHMS_ALGORITHM_DEFAULTS_HPP

#include "../staleness/history.hpp"
#include "../report/rank_report.hpp"
#include "../topology/topology.hpp"
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
  //! The machine of each rank, or null if it does not matter.
  const std::vector<size_t>* machines = nullptr;
  //! Are frames lent to ranks on the same machine?
  bool sharedMemory = true;
  //! May the ranks of a machine share a board?
  bool board = false;
  //! The same on all ranks; for choices that are left to chance.
  std::uint64_t seed = 1;
  //! The staleness of what the model has applied before this run.
  StalenessMeter staleness = StalenessMeter();
  //! Are checkpoints kept?
  bool checkpoint = false;
  //! Is there an exchange while gradients are computed?
  bool overlap = false;
  //! See StalenessResponse.
  double damping = 0;
  double lookAhead = 0;
  //! See ExchangePace.
  double share = 1;
  //! Gradients that a rank may be ahead of a neighbour (0: no limit).
  size_t maxLead = 0;
};

/**
 * A setting that an algorithm does not support is an error, not ignored.
 *
 * @param name The algorithm.
 * @param topologies Does it run on any topology?
 * @param formats Does it write vectors in other formats, record histories and
 *     keep checkpoints?
 */
inline std::string UnsupportedSetting(const std::string& name,
                                      const RunSettings& settings,
                                      const bool topologies,
                                      const bool formats)
{
  if (!topologies && settings.topology != Topology::Complete())
  {
    return "Topology() is " + settings.topology.Name() + ", but " + name +
        " has no choice of that; leave it at auto.";
  }
  if (!formats && settings.format.Type() != WireFormat::Kind::Exact)
  {
    return "WireFormat() is " + settings.format.Name() + ", but " + name +
        " sends exact numbers only; leave it at exact.";
  }
  if (!formats && settings.history)
  {
    return "RecordHistory() is true, but a history is one of DASGD; leave it "
        "at false for " + name + ".";
  }
  if (!formats && settings.checkpoint)
  {
    return "Checkpoint() has a file, but a checkpoint is one of DASGD; leave "
        "it empty for " + name + ".";
  }
  return "";
}

/**
 * The traits of most algorithms; each says what differs.  Traits also have a
 * Name(), a Make() for the worker, and Vectors(), how many it may hold.
 */
struct AlgorithmDefaults
{
  //! Are models averaged in the end?
  static constexpr bool averages = false;
  //! Does one rank keep the model for all others?
  static constexpr bool serves = false;
  //! Can the others go on when a rank dies?
  static constexpr bool survives = false;
  //! Can the topology be chosen, and the format of vectors?
  static constexpr bool topologies = true;
  static constexpr bool formats = false;
  //! Is waiting for others part of it?
  static constexpr bool waits = false;

  //! It has no options of its own.
  struct Options { };
  static std::string Validate(const Options&, size_t) { return ""; }
  template<typename HandshakeType>
  static void Agree(const Options&, HandshakeType&) { }
};

} // namespace dasgd

#endif
