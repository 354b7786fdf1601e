/**
 * @file algorithms.hpp
 *
 * The algorithms that a study can compare.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_ALGORITHMS_HPP
#define DASGD_BINDINGS_STUDY_ALGORITHMS_HPP

#include "text.hpp"

#include <string>
#include <vector>

namespace dasgd {
namespace study {

//! What the parent must know of an algorithm to plan its runs.
struct Algorithm
{
  //! As it is given on the command line, and as the page calls it.
  std::string name;
  std::string label;
  //! One process on one core, whatever the number of ranks?
  bool serial = false;
  //! Does it matter who is connected to whom?
  bool topology = false;
  //! Part of a study unless others are named?
  bool usual = true;
  //! What a reader should know.
  std::string note;
  //! What a number after its name and a colon means; empty if none may follow.
  std::string option;
  //! What its step sizes are of those of SGD.
  double stepScale = 1;
  //! May it use all cores, though it is one process?
  bool allCores = false;
};

//! Has an algorithm a server, which is rank 0?
inline bool HasServer(const std::string& name)
{ return name.compare(0, 2, "ps") == 0; }

//! How the notes of these begin.
inline const std::string& ServerNote()
{
  static const std::string note =
      "rank 0 is the server and computes no gradients";
  return note;
}

//! Momentum of 0.9 makes steps ten times as long in the end.
constexpr double MomentumScale = 0.1;
//! Adam's steps are as long as its step size, whatever the gradient is.
constexpr double AdamScale = 0.01;

inline const std::vector<Algorithm>& Algorithms()
{
  static const std::vector<Algorithm> all = {
      { "dasgd", "DASGD", false, true, true, "", "" },
      { "dasgd_float32", "DASGD (float32)", false, true, false,
          "updates travel in single precision", "" },
      { "dasgd_bfloat16", "DASGD (bfloat16)", false, true, false,
          "updates travel in 16 bits", "" },
      { "dasgd_momentum", "DASGD (momentum)", false, true, false,
          "with a momentum of 0.9", "", MomentumScale },
      { "dasgd_adam", "DASGD (Adam)", false, true, false,
          "with the steps of Adam", "", AdamScale },
      { "allreduce", "AllreduceSGD", false, false, true,
          "all wait for all, each step", "" },
      { "allreduce_momentum", "AllreduceSGD (momentum)", false, false, false,
          "all wait for all, each step", "", MomentumScale },
      { "allreduce_adam", "AllreduceSGD (Adam)", false, false, false,
          "all wait for all, each step", "", AdamScale },
      { "ps", "ParameterServerSGD", false, false, true,
          ServerNote(), "" },
      { "ps_momentum", "ParameterServerSGD (momentum)", false, false, false,
          ServerNote(), "", MomentumScale },
      { "ps_adaptive", "ParameterServerSGD (adaptive)", false, false, false,
          ServerNote() + "; late gradients take shorter steps", "" },
      { "ps_picky", "ParameterServerSGD (picky)", false, false, false,
          ServerNote() + "; it drops gradients of models too far away",
          "distance" },
      { "dpsgd", "DPSGD", false, true, true, "neighbours average, each step",
          "" },
      { "adpsgd", "ADPSGD", false, true, true,
          "pairs average, without waiting for the rest", "" },
      { "adpsgd_momentum", "ADPSGD (momentum)", false, true, false,
          "pairs average, without waiting for the rest", "", MomentumScale },
      { "swift", "SWIFT", false, true, true,
          "averages with what neighbours have sent", "period" },
      { "local", "LocalSGD", false, false, true,
          "all average now and then", "period" },
      { "local_momentum", "LocalSGD (momentum)", false, false, false,
          "all average now and then", "period", MomentumScale },
      { "diloco", "DiLoCo", false, false, false,
          "all average now and then, and step with momentum", "period" },
      { "sgd", "serial SGD", true, false, true, "one process, on one core",
          "" },
      { "momentum", "serial SGD (momentum)", true, false, false,
          "one process, on one core, momentum 0.9", "", MomentumScale },
      { "adam", "serial Adam", true, false, false,
          "one process, on one core", "", AdamScale },
      { "threads", "serial SGD (all cores)", true, false, false,
          "one process; BLAS and OpenMP may use all cores", "", 1, true },
      { "threads_momentum", "serial SGD (momentum, all cores)", true, false,
          false, "one process; BLAS and OpenMP may use all cores", "",
          MomentumScale, true },
      { "parallel", "ens::ParallelSGD", true, false, false,
          "one process with a thread for each core; a point at a time, counted "
          "in batches", "", 1, true }
  };
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
  const std::string word = base.option + " " + NumberText(value);
  made.label = (base.stepScale == MomentumScale) ?
      base.label.substr(0, base.label.size() - 1) + ", " + word + ")" :
      base.label.substr(0, base.label.find(" (")) + " (" + word + ")";
  return made;
}

} // namespace study
} // namespace dasgd

#endif
