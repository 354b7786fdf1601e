/**
 * @file fuzz_idx.cpp
 *
 * IDX files, plain or compressed: the input is the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "memory_file.hpp"

#include <data/idx_file.hpp>

#include <cstdint>
#include <optional>

using namespace dasgd;

namespace {

//! What a reader makes of the file; nothing if it refuses.
template<typename ReaderType>
auto ReadFile(const ReaderType& reader) -> std::optional<decltype(reader())>
{
  try
  {
    return reader();
  }
  catch (const std::runtime_error&)
  {
    return std::nullopt;
  }
}

//! Everything in a file, in two ways to pass over it.
struct Content
{
  std::vector<size_t> sizes;
  std::vector<unsigned char> start;
  size_t values;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  static fuzz::MemoryFile file;
  file.Put(data, size);
  const std::string& path = file.Path();

  const bool taken = IsIdxFile(path);
  const std::optional<Content> content = ReadFile([&]()
  {
    IdxFile idx(path);
    fuzz::Require(idx.Sizes().size() >= 1 && idx.Sizes().size() <= 4,
        "there are one to four dimensions");
    const size_t entries = idx.Sizes()[0];
    Content result{ idx.Sizes(), { }, entries * idx.EntrySize() };
    fuzz::Require(entries == 0 ||
        result.values / entries == idx.EntrySize(), "sizes do not overflow");
    const size_t some = std::min<size_t>(result.values, 5);
    result.start = idx.Read(some);
    idx.Skip(result.values - some);
    idx.ExpectEnd();
    return result;
  });
  fuzz::Require(taken || !content, "an IDX file is taken for one");
  if (!taken)
    return 0;

  size_t width = 0, height = 0;
  const std::optional<arma::mat> images =
      ReadFile([&]() { return LoadIdxImages(path, width, height); });
  fuzz::Require(images.has_value() == (content && content->sizes.size() == 3 &&
      content->values > 0), "images are in files of three dimensions");
  if (images)
  {
    fuzz::Require(width == content->sizes[2] && height == content->sizes[1],
        "images have the size that the file names");
    fuzz::Require(images->n_cols == content->sizes[0] &&
        images->n_rows == width * height, "every image is a column");
    for (size_t i = 0; i < content->start.size(); ++i)
    {
      fuzz::Require((*images)[i] == double(content->start[i]) / 255,
          "pixels are those of the file");
    }
  }

  const std::optional<arma::Row<size_t>> labels =
      ReadFile([&]() { return LoadIdxLabels(path); });
  fuzz::Require(labels.has_value() == (content && content->sizes.size() == 1 &&
      content->values > 0), "labels are in files of one dimension");
  if (labels)
  {
    fuzz::Require(labels->n_elem == content->sizes[0] && std::equal(
        content->start.begin(), content->start.end(), labels->begin()),
        "labels are those of the file");
  }
  return 0;
}
