/**
 * @file common_settings.hpp
 *
 * The attributes of an optimizer that do not depend on its policies.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_COMMON_SETTINGS_HPP
#define DASGD_TRAINING_COMMON_SETTINGS_HPP

#include "../core/automatic.hpp"
#include "../core/config.hpp"
#include "../staleness/history.hpp"
#include "../core/overlap.hpp"
#include "../report/report.hpp"
#include "../topology/topology.hpp"
#include "../topology/shape.hpp"
#include "../run/work.hpp"
#include "../mpi/mpi_communicator.hpp"
#include "../wire/format.hpp"

namespace dasgd {

/**
 * Instead of a step size: estimate the smoothness of the function before the
 * run, and take the largest step that the paper's theorem allows for it and for
 * the staleness to expect of this topology and number of ranks.
 *
 * Measured by Definition 1, the staleness of equal ranks on a quick network is
 * up to twice what the paper expects; so AutoStep reckons with twice as much.
 */
constexpr double AutoStep = Automatic;

//! What a user calls the settings that messages speak of.
struct MessageNames
{
  std::string stepSize = "StepSize()";
  std::string maxIterations = "MaxIterations()";
  std::string restart = "Restart()";
  //! Does rank 0 print what to try after a divergence?
  bool advice = true;
};

//! A rank's counts while Optimize() runs, or null; a copy of the optimizer does
//! not run.
struct LiveCounts
{
  const RankReport* counts = nullptr;

  LiveCounts() = default;
  LiveCounts(const LiveCounts&) { }
  LiveCounts& operator=(const LiveCounts&) { return *this; }
};

//! What all optimizers of this library have, whatever their policies are.
class CommonSettings
{
 public:
  //! Get the step size, or AutoStep.
  double StepSize() const { return stepSize; }
  //! Modify the step size, or set it to AutoStep.
  double& StepSize() { return stepSize; }

  //! Is the step left to AutoStep?
  bool UsesAutoStep() const { return stepSize == AutoStep; }

  //! Get the batch size.
  size_t BatchSize() const { return batchSize; }
  //! Modify the batch size.
  size_t& BatchSize() { return batchSize; }

  //! Get the number of points to visit, over all ranks (0: no limit).
  size_t MaxIterations() const { return maxIterations; }
  //! Modify the number of points to visit, over all ranks (0: no limit).
  size_t& MaxIterations() { return maxIterations; }

  //! Get the tolerance for termination.
  double Tolerance() const { return tolerance; }
  //! Modify the tolerance for termination.
  double& Tolerance() { return tolerance; }

  //! Get whether the points are shuffled.
  bool Shuffle() const { return shuffle; }
  //! Modify whether the points are shuffled.
  bool& Shuffle() { return shuffle; }

  //! Get whether the objective over all points is computed at the end.
  bool ExactObjective() const { return exactObjective; }
  //! Modify whether the objective over all points is computed at the end.
  bool& ExactObjective() { return exactObjective; }

  //! Get whether the update policy starts afresh in each Optimize().
  bool ResetPolicy() const { return resetPolicy; }
  //! Modify whether the update policy starts afresh in each Optimize().
  bool& ResetPolicy() { return resetPolicy; }

  //! Get how the ranks are connected (default: auto, by their machines).
  const dasgd::Topology& Topology() const { return topology; }
  //! Modify how the ranks are connected; a text will do: "ring".
  dasgd::Topology& Topology() { return topology; }

  //! Get which ranks take part (default: all).
  MPI_Comm Communicator() const { return communicator; }
  //! Modify which ranks take part.
  MPI_Comm& Communicator() { return communicator; }

  //! Get where the data is (default: every rank holds all of it).
  dasgd::Data Data() const { return data; }
  //! Modify where the data is.
  dasgd::Data& Data() { return data; }

  //! Get how the work is divided (default: every rank does its share).
  dasgd::Sharing Sharing() const { return sharing; }
  //! Modify how the work is divided.
  dasgd::Sharing& Sharing() { return sharing; }

  //! Get the seed of the common order of points (0: drawn by rank 0).
  size_t Seed() const { return seed; }
  //! Modify the seed of the common order of points (0: drawn by rank 0).
  size_t& Seed() { return seed; }

  //! Get how many frames may be under way to each neighbour (default 0: 2, or
  //! 1 if all ranks exchange while they compute).
  size_t Window() const { return window; }
  //! Modify how many frames may be under way to each neighbour: with more, a
  //! slow peer finds newer gradients, at the cost of memory and messages.
  size_t& Window() { return window; }

  //! Get the number c of this rule: a step whose gradient is S updates old is
  //! multiplied by c / (1 + S) if that is below 1 (default: Automatic).
  double StalenessDamping() const { return stalenessDamping; }
  //! Modify it; 0 leaves steps as they are.
  double& StalenessDamping() { return stalenessDamping; }

  //! Get by how many rounds momentum, and the mean of Adam and its kind, look
  //! ahead on several ranks (default: Automatic, by staleness).
  double LookAhead() const { return lookAhead; }
  //! Modify it; 0 is the plain policy.
  double& LookAhead() { return lookAhead; }

  //! Get how many gradients a rank may be ahead of a neighbour before it gives
  //! it time to catch up (default 32, 0: no limit).
  size_t MaxLead() const { return maxLead; }
  //! Modify how many; it is felt only where gradients take less time than an
  //! exchange.
  size_t& MaxLead() { return maxLead; }

  //! Get the share of its time that a rank may spend on exchanging (default
  //! 0.1).
  double ExchangeShare() const { return exchangeShare; }
  //! Modify it: where frames cost more, up to 8 gradients of a rank are summed
  //! into one; with 1, none waits for another.
  double& ExchangeShare() { return exchangeShare; }

  //! Get whether frames are exchanged while gradients are computed (default:
  //! Auto).
  dasgd::Overlap Overlap() const { return overlap; }
  //! Modify whether they are; each rank may choose for itself.
  dasgd::Overlap& Overlap() { return overlap; }

  //! Are frames lent to ranks on the same machine, rather than sent by MPI?
  bool SharedMemory() const { return sharedMemory; }
  //! Modify whether they are; each rank may choose for itself.
  bool& SharedMemory() { return sharedMemory; }

  //! Get how updates are written on the wire (default: exactly).
  const dasgd::WireFormat& WireFormat() const { return format; }
  //! Modify how updates are written on the wire; a text will do: "float32".
  dasgd::WireFormat& WireFormat() { return format; }

  //! Get the smoothness L of the mean over points, if known (0: not known).
  double Smoothness() const { return smoothness; }
  //! Modify the smoothness: with it the report judges the step size.
  double& Smoothness() { return smoothness; }

  //! Get whether Optimize() records who applied what when.
  bool RecordHistory() const { return recordHistory; }
  //! Modify whether Optimize() records who applied what when.
  bool& RecordHistory() { return recordHistory; }

  /**
   * Save the state of a training while it goes on, and go on from there if
   * there is such a file when Optimize() is called: rank 0's choice counts.
   * Each training needs a file of its own.
   *
   * @param path Where rank 0 keeps it; an empty one turns it off.
   * @param every Seconds from one to the next.
   */
  void Checkpoint(const std::string& path, const double every = 60)
  {
    checkpointFile = path;
    checkpointEvery = every;
  }
  //! Get where checkpoints are kept; empty if they are not.
  const std::string& CheckpointFile() const { return checkpointFile; }
  //! Get the seconds from one checkpoint to the next.
  double CheckpointEvery() const { return checkpointEvery; }

  //! Get what else a checkpoint must agree on to be resumed: names and values.
  const std::vector<std::pair<std::string, std::string>>& CheckpointTags() const
  { return checkpointTags; }
  //! Modify what else it must agree on; such as a regularization, or a check
  //! sum of the data.
  std::vector<std::pair<std::string, std::string>>& CheckpointTags()
  { return checkpointTags; }

  //! Get how settings are called in messages.
  const MessageNames& Messages() const { return messages; }
  //! Modify how they are: programs have options for them.
  MessageNames& Messages() { return messages; }

  //! Get whether a checkpoint that is there is ignored, and replaced.
  bool Restart() const { return restart; }
  //! Modify whether it is.
  bool& Restart() { return restart; }

  //! Get the signals that end Optimize() (default: none).
  const std::vector<int>& StopSignals() const { return stopSignals; }
  //! Modify the signals, such as SIGTERM, that end Optimize() on all ranks if
  //! one gets one, after the last checkpoint; Report().reason is Signal then.
  //! Each rank may choose for itself.
  std::vector<int>& StopSignals() { return stopSignals; }

  //! Get what the last Optimize() recorded: complete on rank 0, and empty on
  //! all others.
  const dasgd::History& History() const { return history; }

  //! Get this rank's counts while Optimize() runs, for callbacks that show
  //! them; null before and after.
  const RankReport* Live() const { return live.counts; }

  //! Get the account of the last Optimize().
  const dasgd::Report& Report() const { return report; }

  /**
   * What is wrong with these settings, as far as they tell; or nothing.
   *
   * @param plain Is the update policy the paper's?
   * @param policy Its name.
   */
  std::string Validate(bool plain, const std::string& policy) const;

 protected:
  //! The parameters of ens::SGD.
  CommonSettings(const double stepSize,
                 const size_t batchSize,
                 const size_t maxIterations,
                 const double tolerance,
                 const bool shuffle,
                 const bool resetPolicy,
                 const bool exactObjective) :
      stepSize(stepSize),
      batchSize(batchSize),
      maxIterations(maxIterations),
      tolerance(tolerance),
      shuffle(shuffle),
      exactObjective(exactObjective),
      resetPolicy(resetPolicy)
  { }
  ~CommonSettings() = default;
  CommonSettings(const CommonSettings&) = default;
  CommonSettings& operator=(const CommonSettings&) = default;

  template<typename AlgorithmType, typename ElemType>
  friend class Training;
  template<typename AlgorithmType, typename ElemType>
  friend class SimulatedTraining;

  double stepSize;
  size_t batchSize;
  size_t maxIterations;
  double tolerance;
  bool shuffle;
  bool exactObjective;
  bool resetPolicy;

  dasgd::Topology topology = dasgd::Topology::Auto();
  MPI_Comm communicator = MPI_COMM_WORLD;
  dasgd::Data data = dasgd::Data::Replicated;
  dasgd::Sharing sharing = dasgd::Sharing::Static;
  size_t seed = 0;
  size_t window = 0;
  size_t maxLead = 32;
  double stalenessDamping = Automatic;
  double lookAhead = Automatic;
  double exchangeShare = DefaultExchangeShare;
  dasgd::Overlap overlap = dasgd::Overlap::Auto;
  bool sharedMemory = true;
  dasgd::WireFormat format;
  double smoothness = 0;
  bool recordHistory = false;
  std::string checkpointFile;
  double checkpointEvery = 60;
  std::vector<std::pair<std::string, std::string>> checkpointTags;
  MessageNames messages;
  bool restart = false;
  std::vector<int> stopSignals;

  LiveCounts live;
  dasgd::History history;
  dasgd::Report report;
};

//! The attributes as they are now, whatever happens to the optimizer.
class SettingsCopy : public CommonSettings
{
 public:
  explicit SettingsCopy(const CommonSettings& settings) :
      CommonSettings(settings) { }
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "common_settings_impl.hpp"
#endif

#endif
