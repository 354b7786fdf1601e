/**
 * @file frame_seeds.cpp
 *
 * Writes valid frames of all kinds into a folder, for fuzz_frame to begin with;
 * to be run again when frames have changed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "frame_input.hpp"

#include <dasgd/wire/frame.hpp>

#include <fstream>
#include <iostream>

using namespace dasgd;
using fuzz::FrameInput;

namespace {

struct Seed
{
  const char* name;
  //! Places in FrameInput's lists.
  size_t ranks;
  size_t elements;
  WireFormat::Kind format;
  size_t entries;
  //! Do entries have version vectors?
  bool versioned;
  size_t facts;
  //! Gradients in an entry without.
  std::uint64_t count = 40;
};

template<typename ElemType>
void Write(const std::string& folder, const Seed& seed)
{
  const bool isDouble = sizeof(ElemType) == 8;
  const FrameInput input{ isDouble, seed.ranks, seed.elements, true };
  const FrameLimits<ElemType> limits{ FrameInput::Ranks[seed.ranks],
      FrameInput::Elements[seed.elements] };
  Buffer buffer(limits.MaxBytes());
  FrameHeader header;
  header.elements = limits.elements;
  header.routeClass = std::uint32_t(limits.ranks - 1);
  header.last = seed.facts > 1;
  header.kind = seed.entries == 0 ? 1 : 0;
  ElemType* vector = FrameVector<ElemType>(buffer);
  for (size_t i = 0; i < limits.elements; ++i)
  {
    const bool zero = seed.format == WireFormat::Kind::TopK && i % 5 != 1;
    vector[i] = zero ? ElemType(0) : ElemType(0.1) * ElemType(i) - 1;
  }
  std::vector<std::uint32_t> places;
  if (limits.elements > 0)
    ShortenFrame<ElemType>(buffer, header, seed.format, nullptr, places);

  Manifest manifest(limits.ranks);
  std::vector<std::uint64_t> version(limits.ranks, 300);
  for (size_t i = 0; i < seed.entries; ++i)
  {
    ManifestEntry entry;
    entry.origin = std::uint32_t(i % limits.ranks);
    entry.versioned = seed.versioned;
    entry.count = seed.versioned ? 1 : seed.count;
    entry.first = 1 + i / limits.ranks * entry.count;
    entry.points = 1000 * (i + 1);
    entry.epoch = 1 + i / 2;
    entry.epochPoints = 32;
    entry.epochObjective = 0.5;
    ++version[entry.origin];
    manifest.Push(entry, version.data());
  }
  std::vector<Fact> facts(seed.facts);
  for (size_t i = 0; i < facts.size(); ++i)
  {
    facts[i].origin = std::uint32_t(i / 2);
    facts[i].count = 1000 + i;
    if (i % 2 == 0)
      continue;
    facts[i].kind = Fact::Kind::Stop;
    facts[i].reason = StopReason::Error;
    facts[i].value = 0.25;
    facts[i].text = "it broke";
  }

  const size_t bytes = EncodeFrame<ElemType>(buffer, header, manifest, facts);
  std::ofstream file(folder + "/" + seed.name + (isDouble ? "_double" :
      "_float"), std::ios::binary);
  file.put(char(input.Byte()));
  file.write(reinterpret_cast<const char*>(buffer.Bytes()),
      std::streamsize(bytes));
}

} // namespace

int main(int argc, char** argv)
{
  if (argc != 2)
  {
    std::cerr << "usage: " << argv[0] << " FOLDER\n";
    return 1;
  }
  using Kind = WireFormat::Kind;
  for (const Seed& seed : {
      Seed{ "nothing", 0, 0, Kind::Exact, 0, true, 0 },
      Seed{ "exact_one_gradient", 1, 4, Kind::Exact, 1, true, 0 },
      Seed{ "exact_many_gradients", 3, 1, Kind::Exact, 12, true, 0 },
      Seed{ "exact_folded_gradients", 2, 2, Kind::Exact, 6, false, 0 },
      // Not valid: so many that they cannot be counted.
      Seed{ "exact_endless_gradients", 3, 1, Kind::Exact, 5, false, 0,
          std::uint64_t(1) << 62 },
      Seed{ "exact_rest_without_gradients", 2, 3, Kind::Exact, 0, true, 0 },
      Seed{ "float32", 1, 5, Kind::Float32, 2, true, 0 },
      Seed{ "bfloat16", 4, 5, Kind::BFloat16, 2, true, 1 },
      Seed{ "topk", 1, 6, Kind::TopK, 1, true, 0 },
      Seed{ "topk_of_many_ranks", 6, 7, Kind::TopK, 3, true, 0 },
      Seed{ "facts_only", 3, 0, Kind::Exact, 0, true, 2 },
      Seed{ "all_facts", 2, 3, Kind::Exact, 2, true, 6 },
      Seed{ "most_ranks", 7, 2, Kind::Exact, 5, true, 4 } })
  {
    Write<double>(argv[1], seed);
    Write<float>(argv[1], seed);
  }
  return 0;
}
