/**
 * @file algorithms.hpp
 *
 * The algorithms that a study can compare.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_ALGORITHMS_HPP
#define DASGD_BINDINGS_STUDY_ALGORITHMS_HPP

#include <data/text.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace dasgd {
namespace study {

//! What an algorithm can take in place of plain steps: the end of its name,
//! what is added to its label and its note, and its step sizes by those of SGD.
struct UpdatePolicy
{
  std::string name;
  std::string label;
  std::string note;
  double stepScale;
};

//! An algorithm, as the table below has it.
struct AlgorithmRow
{
  //! As it is given on the command line.
  const char* name;
  //! As the page calls it: the optimizer, and what distinguishes it from others
  //! with the same.
  const char* label;
  //! One process on one core, whatever the number of ranks?
  bool serial;
  //! Does it matter who is connected to whom?
  bool topology;
  //! Part of a study unless others are named?
  bool usual;
  //! What a reader should know.
  const char* note;
  //! What a number after its name and a colon means; empty if none may follow.
  const char* option = "";
  //! How many of the update policies it can take, from the first on.
  size_t policies = 0;
  //! May it use all cores, though it is one process?
  bool allCores = false;
};

//! How the notes of those begin that have a server.
#define DASGD_STUDY_SERVER "rank 0 is the server and computes no gradients"

//! All algorithms, with plain steps.  Whoever runs them finds the optimizer by
//! its name.
constexpr size_t momentumOnly = 1, anyPolicy = 4;
constexpr AlgorithmRow algorithmRows[] = {
    { "dasgd", "DASGD", false, true, true, "", "", anyPolicy },
    { "dasgd_float32", "DASGD (float32)", false, true, false,
        "updates travel in single precision" },
    { "dasgd_bfloat16", "DASGD (bfloat16)", false, true, false,
        "updates travel in 16 bits" },
    { "allreduce", "AllreduceSGD", false, false, true,
        "all wait for all, each step", "", anyPolicy },
    { "ps", "ParameterServerSGD", false, false, true, DASGD_STUDY_SERVER, "",
        momentumOnly },
    { "ps_adaptive", "ParameterServerSGD (adaptive)", false, false, false,
        DASGD_STUDY_SERVER "; late gradients take shorter steps" },
    { "ps_picky", "ParameterServerSGD (picky)", false, false, false,
        DASGD_STUDY_SERVER "; it drops gradients of models too far away",
        "distance" },
    { "dpsgd", "DPSGD", false, true, true, "neighbours average, each step" },
    { "adpsgd", "ADPSGD", false, true, true,
        "pairs average, without waiting for the rest", "", momentumOnly },
    { "swift", "SWIFT", false, true, true,
        "averages with what neighbours have sent", "period" },
    { "local", "LocalSGD", false, false, true, "all average now and then",
        "period", momentumOnly },
    { "diloco", "DiLoCo", false, false, false,
        "all average now and then, and step with momentum", "period" },
    { "sgd", "serial SGD", true, false, true, "one process, on one core", "",
        anyPolicy },
    { "threads", "serial SGD (all cores)", true, false, false,
        "one process; BLAS and OpenMP may use all cores", "", momentumOnly,
        true },
    { "parallel", "ens::ParallelSGD", true, false, false,
        "one process with a thread for each core; a point at a time, counted "
        "in batches", "", 0, true }
};

//! The optimizer of a row: what its label begins with.
constexpr bool HasOptimizer(const AlgorithmRow& row,
                            const std::string_view optimizer)
{
  const std::string_view label = row.label;
  return label == optimizer || (label.substr(0, optimizer.size()) ==
      optimizer && label.substr(optimizer.size(), 2) == " (");
}

//! How many of the update policies an optimizer is compiled for.
constexpr size_t PoliciesOf(const std::string_view optimizer)
{
  size_t most = 0;
  for (const AlgorithmRow& row : algorithmRows)
    most = HasOptimizer(row, optimizer) ? std::max(most, row.policies) : most;
  return most;
}

//! What the parent must know of an algorithm to plan its runs; see
//! AlgorithmRow.
struct Algorithm
{
  std::string name;
  std::string label;
  bool serial = false;
  bool topology = false;
  bool usual = true;
  std::string note;
  std::string option;
  bool allCores = false;
  //! Without its update policy, and the name of that.
  const AlgorithmRow* base = nullptr;
  std::string policy;
  //! What its step sizes are of those of SGD.
  double stepScale = 1;

  //! Has it a server, which is rank 0?
  bool HasServer() const
  { return base && HasOptimizer(*base, "ParameterServerSGD"); }
};

//! One more word within the brackets of a label.
inline std::string AddToLabel(const std::string& label, const std::string& word)
{
  return (label.back() == ')') ? label.substr(0, label.size() - 1) + ", " +
      word + ")" : label + " (" + word + ")";
}

//! The same algorithm with an update policy.  What is serial is named after
//! that alone.
inline Algorithm WithPolicy(const Algorithm& base, const UpdatePolicy& policy)
{
  Algorithm made = base;
  made.name = (base.name == "sgd") ? policy.name : base.name + "_" +
      policy.name;
  made.label = AddToLabel(base.label, policy.label);
  made.usual = false;
  made.note += (base.note.empty() || policy.note.empty() ? "" : "; ") +
      policy.note;
  made.policy = policy.name;
  made.stepScale = policy.stepScale;
  return made;
}

//! For Algorithms(), which has them once.
inline std::vector<Algorithm> MakeAlgorithms()
{
  // Momentum of 0.9 makes steps ten times as long in the end; those of the last
  // two are as long as their step size, whatever the gradient is.
  const UpdatePolicy policies[anyPolicy] = {
      { "momentum", "momentum", "momentum 0.9", 0.1 },
      { "nesterov", "Nesterov", "Nesterov's momentum 0.9", 0.1 },
      { "adam", "Adam", "", 0.01 },
      { "rmsprop", "RMSProp", "", 0.01 }
  };
  std::vector<Algorithm> all;
  for (const AlgorithmRow& row : algorithmRows)
  {
    const Algorithm plain{ row.name, row.label, row.serial, row.topology,
        row.usual, row.note, row.option, row.allCores, &row, "" };
    all.push_back(plain);
    for (size_t i = 0; i < row.policies; ++i)
      all.push_back(WithPolicy(plain, policies[i]));
  }
  return all;
}

inline const std::vector<Algorithm>& Algorithms()
{
  static const std::vector<Algorithm> all = MakeAlgorithms();
  return all;
}

//! The algorithm of that name, without a number, or null.
inline const Algorithm* FindAlgorithm(const std::string& name)
{
  for (const Algorithm& algorithm : Algorithms())
  {
    if (algorithm.name == name)
      return &algorithm;
  }
  return nullptr;
}

/**
 * The algorithm of a name with its number: "local:16" is local SGD that
 * averages after 16 steps.  However the number is written, the name is the
 * same.
 *
 * @param base The algorithm of the name before the colon.
 * @param number What follows the colon.
 * @throw std::invalid_argument with the reason and the remedy.
 */
inline Algorithm WithNumber(const Algorithm& base, const std::string& number)
{
  if (base.option.empty())
  {
    throw std::invalid_argument("'" + base.name + "' takes no number; leave "
        "':" + number + "' out");
  }
  const bool period = (base.option == "period");
  double value = 0;
  if (!ReadNumber(number, value) || value <= 0 || (period &&
      (value != std::floor(value) || value > 65536)))
  {
    throw std::invalid_argument("the " + base.option + " of '" + base.name +
        "' is '" + number + "', but must be a " + (period ? "whole number from "
        "1 to 65536; write " + base.name + ":16 to average after 16 steps" :
        "number above 0; write " + base.name + ":0.5 to drop gradients of "
        "models that are farther away"));
  }
  Algorithm made = base;
  made.name = base.name + ":" + NumberText(value);
  made.label = AddToLabel(base.label, base.option + " " + NumberText(value));
  return made;
}

} // namespace study
} // namespace dasgd

#endif
