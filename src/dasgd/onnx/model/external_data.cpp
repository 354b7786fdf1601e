/**
 * @file external_data.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/model/external_data.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace dasgd {
namespace graph {

namespace {

//! Where values are: a part of a file.
struct Place
{
  std::string location;
  std::uint64_t offset = 0, length = 0;
  bool hasLength = false;
};

std::uint64_t Number(const std::string& text, const std::string& what)
{
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos)
  {
    throw std::invalid_argument(what + " says '" + text + "' where a number of "
        "bytes is expected; the file is damaged");
  }
  return std::stoull(text);
}

Place PlaceOf(const pb::TensorProto& tensor, const std::string& what)
{
  Place place;
  for (const pb::StringStringEntryProto& entry : tensor.external_data())
  {
    if (entry.key() == "location")
      place.location = entry.value();
    else if (entry.key() == "offset")
      place.offset = Number(entry.value(), what);
    else if (entry.key() == "length")
    {
      place.length = Number(entry.value(), what);
      place.hasLength = true;
    }
  }
  const std::filesystem::path path(place.location);
  bool within = !path.empty() && path.is_relative();
  for (const std::filesystem::path& part : path)
    within = within && part != "..";
  if (!within)
  {
    throw std::invalid_argument(what + " is in '" + place.location + "', but "
        "has to be in a file beside the model");
  }
  return place;
}

void ReadTensor(pb::TensorProto& tensor, const std::string& folder)
{
  const std::string what = "the tensor '" + tensor.name() + "'";
  const Place place = PlaceOf(tensor, what);
  const std::string path =
      (std::filesystem::path(folder) / place.location).string();
  std::error_code ignored;
  const bool regular = std::filesystem::is_regular_file(path, ignored);
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file && regular ?
      std::streamoff(file.tellg()) : -1;
  if (size < 0)
  {
    throw std::invalid_argument(what + " is in '" + path + "', which cannot be "
        "read: " + (errno ? std::strerror(errno) : "it is no file") +
        "; keep that file beside the model");
  }
  const std::uint64_t needed = Elements(DimsOf(tensor), what) *
      std::uint64_t(Width(tensor.data_type()));
  const std::uint64_t length = place.hasLength ? place.length : needed;
  if (length != needed || place.offset > std::uint64_t(size) ||
      length > std::uint64_t(size) - place.offset)
  {
    throw std::invalid_argument(what + " takes " + std::to_string(needed) +
        " bytes, given as " + std::to_string(length) + " from byte " +
        std::to_string(place.offset) + " of '" + path + "', which has " +
        std::to_string(size) + "; is it the file of another model?");
  }
  std::string bytes(size_t(length), '\0');
  file.seekg(std::streamoff(place.offset));
  if (!file.read(&bytes[0], std::streamsize(length)))
    throw std::invalid_argument(what + " cannot be read from '" + path + "'");
  tensor.set_raw_data(std::move(bytes));
  tensor.clear_external_data();
  tensor.clear_data_location();
}

} // namespace

std::string FolderOf(const std::string& path)
{
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void ReadExternalData(pb::GraphProto& graph, const std::string& folder)
{
  for (pb::TensorProto& tensor : *graph.mutable_initializer())
  {
    if (tensor.external_data_size() > 0 ||
        tensor.data_location() == pb::TensorProto::EXTERNAL)
      ReadTensor(tensor, folder);
  }
}

} // namespace graph
} // namespace dasgd
