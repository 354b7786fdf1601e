/**
 * @file data.hpp
 *
 * The points of a study on disk: prepared once, read by every run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_DATA_HPP
#define DASGD_BINDINGS_STUDY_DATA_HPP

#include <data/text.hpp>
#include <problems/task.hpp>

#include <filesystem>

namespace dasgd {
namespace study {

namespace detail {

inline void SaveSet(const std::string& path, const LabelledSet& set)
{
  const arma::Row<arma::u64> labels =
      arma::conv_to<arma::Row<arma::u64>>::from(set.labels);
  if (!set.points.save(path + "_points.bin", arma::arma_binary) ||
      !labels.save(path + "_labels.bin", arma::arma_binary))
  {
    throw std::runtime_error("The points cannot be written to '" + path +
        "_points.bin'; is the disk full?  Choose another '--results_dir'!");
  }
}

inline void LoadSet(const std::string& path, LabelledSet& set)
{
  arma::Row<arma::u64> labels;
  if (!set.points.load(path + "_points.bin", arma::arma_binary) ||
      !labels.load(path + "_labels.bin", arma::arma_binary))
  {
    throw std::runtime_error("The points cannot be read from '" + path +
        "_points.bin'; start the study again, which writes them anew!");
  }
  set.labels = arma::conv_to<arma::Row<size_t>>::from(labels);
}

} // namespace detail

//! Write the points to a folder, which is made.
inline void SaveData(const std::string& folder, const DataSet& data)
{
  std::filesystem::create_directories(folder);
  detail::SaveSet(folder + "/train", data.train);
  detail::SaveSet(folder + "/validation", data.validation);
  detail::SaveSet(folder + "/test", data.test);
  Entries about;
  about.Set("classes", double(data.classes));
  about.Set("shape", data.shape);
  about.Save(folder + "/about.txt");
}

//! Read them.
inline DataSet LoadData(const std::string& folder)
{
  DataSet data;
  Entries about;
  if (!about.Load(folder + "/about.txt"))
  {
    throw std::runtime_error("There is no '" + folder + "/about.txt'; start "
        "the study again, which writes its points anew!");
  }
  data.classes = about.Count("classes");
  data.shape = about.Text("shape");
  detail::LoadSet(folder + "/train", data.train);
  detail::LoadSet(folder + "/validation", data.validation);
  detail::LoadSet(folder + "/test", data.test);
  return data;
}

} // namespace study
} // namespace dasgd

#endif
