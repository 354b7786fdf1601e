/**
 * @file handshake.hpp
 *
 * The start of a run: all ranks must have the same settings.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_HANDSHAKE_HPP
#define DASGD_TRAINING_HANDSHAKE_HPP

#include "../core/config.hpp"
#include "../core/type_name.hpp"
#include "../mpi/mpi_communicator.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace dasgd {

//! A number in as few digits as identify it.
std::string ExactText(const double value);
std::string ExactText(const size_t value);
std::string ExactText(const bool value);

/**
 * What each rank brings to a run.  Agree() compares it over all ranks; a
 * difference, or a problem on any rank, is one and the same exception on all of
 * them, so that nobody starts and nobody waits.
 */
class Handshake
{
 public:
  //! Something that must be equal on all ranks.
  void Require(const std::string& name,
               const std::string& value,
               const std::string& remedy = "give every rank the same");

  void Require(const std::string& name, const double value);

  void Require(const std::string& name, const size_t value);

  void Require(const std::string& name, const bool value);

  //! Something is wrong on this rank; the first one counts.
  void Problem(const std::string& text);

  //! The user's code has thrown on this rank, so what it brings means nothing.
  void Failure(const std::string& text) { failure = text; }

  //! Another thread has been here; see mpi::Call.  It may have brought what
  //! differs.
  void Misuse(const std::string& text) { misuse = text; }

  /**
   * Compare; throws std::invalid_argument on every rank if something differs,
   * mpi::MixedThreads after a misuse, and std::runtime_error after a failure.
   *
   * @param caller Named in messages.
   */
  void Agree(const MpiCommunicator& comm, const std::string& caller) const;

 private:
  struct Field
  {
    std::string name;
    std::string value;
    std::string remedy;
  };

  //! Throw if the fields of two ranks differ; reads them from what follows.
  void Compare(std::vector<std::istringstream>& texts,
               const std::string& caller) const;

  std::vector<Field> fields;
  std::string problem;
  std::string failure;
  std::string misuse;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "handshake_impl.hpp"
#endif

#endif
