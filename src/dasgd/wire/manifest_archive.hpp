/**
 * @file manifest_archive.hpp
 *
 * Manifests and facts as bytes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_MANIFEST_ARCHIVE_HPP
#define DASGD_WIRE_MANIFEST_ARCHIVE_HPP

#include "../core/config.hpp"
#include "../core/fact.hpp"
#include "../staleness/manifest.hpp"
#include "byte_archive.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dasgd {
namespace wire {

void Save(ByteOutputArchive& archive, const Manifest& manifest);

/**
 * Throws WireError if the bytes are no manifest.
 *
 * @param version Scratch.
 */
void Load(ByteInputArchive& archive,
          Manifest& manifest,
          std::vector<std::uint64_t>& version);

void Save(ByteOutputArchive& archive, const std::vector<Fact>& facts);

//! Throws WireError if the bytes are no facts of this many ranks.
void Load(ByteInputArchive& archive,
          const size_t ranks,
          std::vector<Fact>& facts);

} // namespace wire
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "manifest_archive_impl.hpp"
#endif

#endif
