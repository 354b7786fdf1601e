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

#include <list>
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
  //! Threads of one process instead of ranks?
  bool threads = false;
};

inline const std::vector<Algorithm>& Algorithms()
{
  static const std::vector<Algorithm> all = {
      { "dasgd", "DASGD", false, true, true, "", "" },
      { "dasgd_dynamic", "DASGD (dynamic)", false, true, true,
          "fast ranks visit more points", "" },
      { "dasgd_float32", "DASGD (float32)", false, true, false,
          "updates travel in single precision", "" },
      { "dasgd_bfloat16", "DASGD (bfloat16)", false, true, false,
          "updates travel in 16 bits", "" },
      { "allreduce", "AllreduceSGD", false, false, true,
          "all wait for all, each step", "" },
      { "ps", "ParameterServerSGD", false, false, true,
          "rank 0 is the server and computes no gradients", "" },
      { "ps_adaptive", "ParameterServerSGD (adaptive)", false, false, false,
          "rank 0 is the server; late gradients take shorter steps", "" },
      { "ps_picky", "ParameterServerSGD (picky)", false, false, false,
          "rank 0 is the server; it drops gradients of models too far away",
          "distance" },
      { "dpsgd", "DPSGD", false, true, true, "neighbours average, each step",
          "" },
      { "adpsgd", "ADPSGD", false, true, true,
          "pairs average, without waiting for the rest", "" },
      { "swift", "SWIFT", false, true, true,
          "averages with what neighbours have sent", "period" },
      { "local", "LocalSGD", false, false, true,
          "all average now and then", "period" },
      { "sgd", "ens::SGD", true, false, true, "serial, one process", "" },
      { "hogwild", "ens::ParallelSGD", false, false, false,
          "threads of one process on one model, without locks; a step for "
          "each point, shorter by the size of a batch", "", true } };
  return all;
}

/**
 * The algorithm of that name, or null.  Some take a number: "local:16" is local
 * SGD that averages after 16 steps.
 */
inline const Algorithm* FindAlgorithm(const std::string& name)
{
  // Those with a number are made when they are first asked for, and stay.
  static std::list<Algorithm> made;
  for (const Algorithm& algorithm : Algorithms())
  {
    if (algorithm.name == name)
      return &algorithm;
  }
  for (const Algorithm& algorithm : made)
  {
    if (algorithm.name == name)
      return &algorithm;
  }
  const size_t colon = name.find(':');
  double value = 0;
  if (colon == std::string::npos || !ReadNumber(name.substr(colon + 1), value)
      || value <= 0)
    return nullptr;
  for (const Algorithm& algorithm : Algorithms())
  {
    if (algorithm.name != name.substr(0, colon) || algorithm.option.empty() ||
        (algorithm.option == "period" && value != std::floor(value)))
      continue;
    made.push_back(algorithm);
    made.back().name = name;
    made.back().label = algorithm.label.substr(0, algorithm.label.find(" (")) +
        " (" + algorithm.option + " " + NumberText(value) + ")";
    return &made.back();
  }
  return nullptr;
}

} // namespace study
} // namespace dasgd

#endif
