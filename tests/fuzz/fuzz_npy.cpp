/**
 * @file fuzz_npy.cpp
 *
 * Arrays of NumPy, alone or in an archive: the input is the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "memory_file.hpp"

#include <data/npy_file.hpp>

#include <cstdint>

using namespace dasgd;

namespace {

//! Is an array what it says?
void CheckArray(const NpyArray& array)
{
  fuzz::Require(!array.sizes.empty(), "arrays have dimensions");
  size_t rows = 1;
  for (size_t i = 1; i < array.sizes.size(); ++i)
    rows *= array.sizes[i];
  std::visit([&](const auto& values)
  {
    fuzz::Require(values.n_rows == rows && values.n_cols == array.sizes[0] &&
        !values.empty(), "every entry is a column");
  }, array.values);
}

//! Do something with the file; it may be refused.
template<typename ActionType>
void Reading(ActionType&& action)
{
  try
  {
    action();
  }
  catch (const std::runtime_error&)
  {
    // Refused with a message.
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  static fuzz::MemoryFile file;
  file.Put(data, size);
  Reading([&]() { CheckArray(LoadNpy(file.Path())); });
  Reading([&]()
  {
    for (const NpyArray& array : LoadNpz(file.Path()))
      CheckArray(array);
  });
  return 0;
}
