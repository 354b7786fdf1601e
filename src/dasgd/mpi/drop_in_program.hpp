/**
 * @file drop_in_program.hpp
 *
 * What a program that knows nothing of ranks needs when several of it run: it
 * prints once, it writes whole files, and it says so if it trains n times the
 * same.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_DROP_IN_PROGRAM_HPP
#define DASGD_MPI_DROP_IN_PROGRAM_HPP

#include "../core/config.hpp"
#include "mpi_environment.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <typeinfo>

namespace dasgd {
namespace drop_in {

//! How this process was started, as it was when the program began.
const mpi::Launched& Program();

/**
 * Ranks other than 0 print nothing on standard output from now on, be it by
 * std::cout, printf() or system(), unless the environment variable
 * DASGD_ALL_OUTPUT is set.  Standard error is left alone.
 *
 * @return True, for use as an initializer.
 */
bool Begin();

//! An optimizer that is not decentralized begins: on rank 0 of several, say so,
//! once for each kind.
void SaySerial(const std::type_info& optimizer);

/**
 * Write a file.  If several ranks run, each writes one of its own and gives it
 * the name when it is complete: readers find a whole file at any time, and it
 * does not matter which rank was last, since all hold the same.
 *
 * @param name The name that the file is to have.
 * @param write Writes to the given name and says whether it could.
 */
bool Save(const std::string& name,
          const std::function<bool(const std::string&)>& write);

/**
 * The seed for a program's random numbers.  Programs like to take the time,
 * which ranks may read in different seconds; if several ranks run, such a seed
 * becomes a number of the job, which is another one in the next job.
 */
size_t Seed(const size_t given);

} // namespace drop_in
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "drop_in_program_impl.hpp"
#endif

#endif
