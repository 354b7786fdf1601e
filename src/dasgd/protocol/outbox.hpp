/**
 * @file outbox.hpp
 *
 * What waits to be sent on a channel.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_OUTBOX_HPP
#define DASGD_PROTOCOL_OUTBOX_HPP

#include "../core/fact.hpp"
#include "../staleness/manifest.hpp"
#include "../wire/buffer.hpp"

namespace dasgd {

//! The next frame of a channel, as it is being filled.
struct Outbox
{
  //! The vector, where the frame will be, if there is one.
  Buffer buffer;
  Manifest manifest;
  std::vector<Fact> facts;
  //! Does the vector hold something that no gradient of the manifest accounts
  //! for: what rounding has left of those sent before?
  bool carry = false;
  //! Gradients of this rank that wait here.
  size_t own = 0;

  //! Is the sum yet to be begun?
  bool Fresh() const { return manifest.Empty() && !carry; }
  bool Empty() const { return manifest.Empty() && facts.empty(); }
};

} // namespace dasgd

#endif
