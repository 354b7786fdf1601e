/**
 * @file archive.hpp
 *
 * Models to and from files, as mlpack serializes them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_ARCHIVE_HPP
#define DASGD_BINDINGS_TRAINING_ARCHIVE_HPP

#include <mlpack/core.hpp>

#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/archives/xml.hpp>

#include <istream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
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
  bool more = false;
  if constexpr (std::is_same<ArchiveType, cereal::XMLInputArchive>::value)
  {
    // Its parser reads to the end, and does not mind what is there.
    std::stringstream text;
    text << in.rdbuf();
    const std::string all = text.str(), end = "</cereal>";
    const size_t last = all.rfind(end);
    more = last != std::string::npos &&
        all.find_first_not_of(" \t\r\n", last + end.size()) !=
        std::string::npos;
    ArchiveType archive(text);
    archive(cereal::make_nvp("model", model));
  }
  else
  {
    ArchiveType archive(in);
    archive(cereal::make_nvp("model", model));
    more = in.peek() != std::istream::traits_type::eof();
  }
  if (more)
    throw std::runtime_error("there is more than the model in it");
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
