/**
 * @file load_text.hpp
 *
 * Tables from texts and from arrays of NumPy, as long as there is memory for
 * them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_LOAD_TEXT_HPP
#define DASGD_BINDINGS_DATA_LOAD_TEXT_HPP

#include "table.hpp"

#include <ranks/ranks.hpp>

#include <armadillo>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

//! Memory of the machine, in bytes; 0 where the system does not tell.
struct Memory
{
  std::uint64_t free = 0;
  std::uint64_t all = 0;
};

Memory MachineMemory();

/**
 * Throw if a matrix does not fit into memory, once for each rank.  Other ranks
 * may have read theirs already, so what is free is compared with one, and all
 * of them with the whole machine.
 */
void CheckMemory(const size_t rows,
                 const size_t cols,
                 const std::uint64_t ranks = RanksOnMachine(),
                 const Memory& memory = MachineMemory());

//! Read a text; see LoadTable().
Table LoadText(const std::string& path,
               const bool arff,
               const std::function<size_t(const std::vector<std::string>&)>&
                   label);

//! Read an array of NumPy: a point for each index of its first dimension.
arma::mat LoadNpy(const std::string& path);

} // namespace cli
} // namespace dasgd

#endif
