/**
 * @file archive.hpp
 *
 * Models to and from files, as mlpack serializes them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_ARCHIVE_HPP
#define DASGD_BINDINGS_COMMON_ARCHIVE_HPP

#include <mlpack/core.hpp>

#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/archives/xml.hpp>

#include <istream>
#include <ostream>
#include <stdexcept>
#include <type_traits>

namespace dasgd {
namespace cli {

//! Write a model with one of cereal's output archives.
template<typename ArchiveType, typename ModelType>
void SaveModel(std::ostream& out, ModelType& model)
{
  ArchiveType archive(out);
  archive(cereal::make_nvp("model", model));
}

//! Read a model with one of cereal's input archives.
template<typename ArchiveType, typename ModelType>
void LoadModel(std::istream& in, ModelType& model)
{
  ArchiveType archive(in);
  archive(cereal::make_nvp("model", model));
  // The parsers of the others read to the end, and see what is there.
  if (std::is_same<ArchiveType, cereal::BinaryInputArchive>::value &&
      in.peek() != std::istream::traits_type::eof())
    throw std::runtime_error("there are more bytes than the model has");
}

} // namespace cli
} // namespace dasgd

//! Instantiates both for all archives, or with `extern` says that this is done
//! elsewhere.
#define DASGD_MODEL_ARCHIVES(PREFIX, TYPE) \
    PREFIX template void dasgd::cli::SaveModel<cereal::BinaryOutputArchive>( \
        std::ostream&, TYPE&); \
    PREFIX template void dasgd::cli::SaveModel<cereal::JSONOutputArchive>( \
        std::ostream&, TYPE&); \
    PREFIX template void dasgd::cli::SaveModel<cereal::XMLOutputArchive>( \
        std::ostream&, TYPE&); \
    PREFIX template void dasgd::cli::LoadModel<cereal::BinaryInputArchive>( \
        std::istream&, TYPE&); \
    PREFIX template void dasgd::cli::LoadModel<cereal::JSONInputArchive>( \
        std::istream&, TYPE&); \
    PREFIX template void dasgd::cli::LoadModel<cereal::XMLInputArchive>( \
        std::istream&, TYPE&);

#endif
