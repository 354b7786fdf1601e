/**
 * @file settings.hpp
 *
 * What the user sets: the attributes of ens::SGD, and those of a decentralized
 * run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SETTINGS_HPP
#define DASGD_OPTIMIZER_SETTINGS_HPP

#include "../core/history.hpp"
#include "../core/report.hpp"
#include "../core/topology.hpp"
#include "../core/work.hpp"
#include "../transport/mpi_communicator.hpp"
#include "../wire/format.hpp"
#include "auto_step.hpp"
#include "ensmallen.hpp"

#include <cmath>
#include <sstream>

namespace dasgd {

//! What a user calls the settings that messages speak of.
struct MessageNames
{
  std::string stepSize = "StepSize()";
  std::string maxIterations = "MaxIterations()";
  std::string restart = "Restart()";
  //! Does rank 0 print what to try after a divergence?
  bool advice = true;
};

/**
 * What belongs to one optimizer and is not copied with it: policies that were
 * instantiated for a type and shape of iterate, which refer to the optimizer
 * that made them, and the counts of the run that is under way.
 */
struct PolicyState
{
  const RankReport* live = nullptr;

  ens::Any update;
  ens::Any decay;
  size_t rows = 0;
  size_t cols = 0;

  PolicyState() = default;
  PolicyState(const PolicyState&) : PolicyState() { }
  PolicyState& operator=(const PolicyState&)
  {
    Clean();
    return *this;
  }
  ~PolicyState() { Clean(); }

  void Clean()
  {
    update.Clean();
    decay.Clean();
  }
};

/**
 * The attributes that all optimizers of this library have.  The optimizers
 * themselves define Optimize(), since mlpack looks for it in the very class
 * that is handed to Train().
 *
 * @tparam UpdatePolicyType Update policy, as in ens::SGD.
 * @tparam DecayPolicyType Decay policy, as in ens::SGD.
 */
template<typename UpdatePolicyType, typename DecayPolicyType>
class Settings
{
 public:
  //! The parameters of ens::SGD.
  Settings(const double stepSize,
           const size_t batchSize,
           const size_t maxIterations,
           const double tolerance,
           const bool shuffle,
           const UpdatePolicyType& updatePolicy,
           const DecayPolicyType& decayPolicy,
           const bool resetPolicy,
           const bool exactObjective) :
      stepSize(stepSize),
      batchSize(batchSize),
      maxIterations(maxIterations),
      tolerance(tolerance),
      shuffle(shuffle),
      exactObjective(exactObjective),
      updatePolicy(updatePolicy),
      decayPolicy(decayPolicy),
      resetPolicy(resetPolicy)
  { }

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

  //! Get the update policy.
  const UpdatePolicyType& UpdatePolicy() const { return updatePolicy; }
  //! Modify the update policy.
  UpdatePolicyType& UpdatePolicy() { return updatePolicy; }

  //! Get the instantiated update policy; check its type with Has().
  const ens::Any& InstUpdatePolicy() const { return state.update; }
  //! Modify the instantiated update policy; check its type with Has().
  ens::Any& InstUpdatePolicy() { return state.update; }

  //! Get the decay policy.
  const DecayPolicyType& DecayPolicy() const { return decayPolicy; }
  //! Modify the decay policy.
  DecayPolicyType& DecayPolicy() { return decayPolicy; }

  //! Get the instantiated decay policy; check its type with Has().
  const ens::Any& InstDecayPolicy() const { return state.decay; }
  //! Modify the instantiated decay policy; check its type with Has().
  ens::Any& InstDecayPolicy() { return state.decay; }

  //! Get how the ranks are connected (default: complete).
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

  //! Get how many frames may be under way to each neighbour (default 2).
  size_t Window() const { return window; }
  //! Modify how many frames may be under way to each neighbour: with more, a
  //! slow peer finds newer gradients, at the cost of memory and messages.
  size_t& Window() { return window; }

  //! Get how many gradients a rank may be ahead of a neighbour before it gives
  //! it time to catch up (default 32, 0: no limit).
  size_t MaxLead() const { return maxLead; }
  //! Modify how many; it is felt only where gradients take less time than an
  //! exchange.
  size_t& MaxLead() { return maxLead; }

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
  //! Modify what else it must agree on; such as a regularization, or a check sum
  //! of the data.
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

  //! Get what the last Optimize() recorded: complete on rank 0, and empty on
  //! all others.
  const dasgd::History& History() const { return history; }

  //! What is wrong with these settings, as far as they tell; or nothing.
  std::string Complaint() const
  {
    const auto number = [](const double value)
    {
      std::ostringstream text;
      text << value;
      return text.str();
    };
    if (!UsesAutoStep() && !(std::isfinite(stepSize) && stepSize >= 0))
    {
      return "StepSize() is " + number(stepSize) + ", but must be a finite "
          "number of at least 0, or AutoStep.";
    }
    if (UsesAutoStep() &&
        !std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value)
    {
      return "StepSize() is AutoStep, which knows plain steps only, but the "
          "update policy is " + TypeName<UpdatePolicyType>() + "; give a "
          "number.";
    }
    if (!(std::isfinite(smoothness) && smoothness >= 0))
    {
      return "Smoothness() is " + number(smoothness) + ", but must be a finite "
          "number above 0, or 0 if it is not known.";
    }
    if (window == 0 || window > 4096)
    {
      return "Window() is " + std::to_string(window) + ", but must be from 1 "
          "to 4096.";
    }
    if (batchSize == 0)
      return "BatchSize() is 0, but must be at least 1.";
    if (!(checkpointEvery >= 0))
    {
      return "CheckpointEvery() is " + number(checkpointEvery) + ", but must "
          "be at least 0 seconds.";
    }
    return format.Complaint();
  }

  //! Get this rank's counts while Optimize() runs, for callbacks that show
  //! them; null before and after.
  const RankReport* Live() const { return state.live; }

  //! Get the account of the last Optimize().
  const dasgd::Report& Report() const { return report; }

 protected:
  ~Settings() = default;
  Settings(const Settings&) = default;
  Settings& operator=(const Settings&) = default;

  //! Policies for an iterate of this type and shape, as ens::SGD keeps them.
  template<typename InstUpdateType, typename InstDecayType>
  void Instantiate(const size_t rows, const size_t cols)
  {
    // ens::SGD does not reset decay policies, whatever ResetPolicy() says.
    if (!state.decay.template Has<InstDecayType>())
    {
      state.decay.Clean();
      state.decay.template Set<InstDecayType>(new InstDecayType(decayPolicy));
    }
    // Unlike ens::SGD, follow an iterate of another shape.
    if (!resetPolicy && state.update.template Has<InstUpdateType>() &&
        state.rows == rows && state.cols == cols)
      return;
    state.update.Clean();
    state.update.template Set<InstUpdateType>(
        new InstUpdateType(updatePolicy, rows, cols));
    state.rows = rows;
    state.cols = cols;
  }

 private:
  template<typename TypesType>
  friend class Training;
  template<typename TypesType>
  friend class SimulatedTraining;

  double stepSize;
  size_t batchSize;
  size_t maxIterations;
  double tolerance;
  bool shuffle;
  bool exactObjective;
  UpdatePolicyType updatePolicy;
  DecayPolicyType decayPolicy;
  bool resetPolicy;

  dasgd::Topology topology;
  MPI_Comm communicator = MPI_COMM_WORLD;
  dasgd::Data data = dasgd::Data::Replicated;
  dasgd::Sharing sharing = dasgd::Sharing::Static;
  size_t seed = 0;
  size_t window = 2;
  size_t maxLead = 32;
  bool sharedMemory = true;
  dasgd::WireFormat format;
  double smoothness = 0;
  bool recordHistory = false;
  std::string checkpointFile;
  double checkpointEvery = 60;
  std::vector<std::pair<std::string, std::string>> checkpointTags;
  MessageNames messages;
  bool restart = false;

  PolicyState state;
  dasgd::History history;
  dasgd::Report report;
};

//! The attributes as they are now, whatever happens to the optimizer.
template<typename UpdatePolicyType, typename DecayPolicyType>
class SettingsCopy : public Settings<UpdatePolicyType, DecayPolicyType>
{
 public:
  explicit SettingsCopy(
      const Settings<UpdatePolicyType, DecayPolicyType>& settings) :
      Settings<UpdatePolicyType, DecayPolicyType>(settings)
  { }
};

} // namespace dasgd

#endif
