/**
 * @file model_names.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "model_names.hpp"
#include "training_tags.hpp"

#include <ranks/ranks.hpp>
#include <terminal/params.hpp>

#include <dasgd/files/whole_file.hpp>
#include <mlpack/core.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace cli {

namespace {

//! The first line of a file of names.
const std::string NamesHead = "names of columns and classes for dasgd, 1";

//! The file beside a model, whatever the front end keeps of its name.
std::string NamesFile(mlpack::util::Params& params, const std::string& name)
{
  const char alias = params.Parameters()[name].alias;
  const std::string option = "--" + name + "_file";
  const std::vector<std::string> words = CommandWords();
  for (size_t i = 1; i < words.size(); ++i)
  {
    const std::string& word = words[i];
    if (i + 1 < words.size() && (word == option || word == std::string("-") +
        alias))
      return words[i + 1] + ".names";
    if (word.rfind(option + "=", 0) == 0)
      return word.substr(option.size() + 1) + ".names";
    if (word.size() > 2 && word[0] == '-' && word[1] == alias)
      return word.substr(word[2] == '=' ? 3 : 2) + ".names";
  }
  return ".names";
}

} // namespace

DataNames InputNames(mlpack::util::Params& params, const arma::mat& parameters)
{
  DataNames names;
  names.ofModel = true;
  const std::string path = NamesFile(params, "input_model");
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line))
    return names;
  const auto refuse = [&](const std::string& what)
  {
    throw std::invalid_argument("'" + path + "' " + what + "; put the file "
        "there that was written with the model, or remove it!");
  };
  if (line != NamesHead)
    refuse("is no file of names that this version of dasgd can read");
  while (std::getline(file, line))
  {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string kind = line.substr(0, space);
    const std::string value = line.substr(std::min(space + 1, line.size()));
    if (kind == "model" && value != ModelTag(parameters)[0].second)
      refuse("belongs to another model");
    else if (kind == "column")
    {
      names.columns.emplace_back();
      names.columns.back().name = value;
    }
    else if (kind == "word" && !names.columns.empty())
      names.columns.back().words.push_back(value);
    else if (kind == "label")
    {
      std::istringstream text(value);
      text >> names.labelColumn;
      text.get();
      std::getline(text, names.labelName);
    }
    else if (kind == "class")
      names.classes.push_back(value);
    else if (kind != "model")
      refuse("is damaged in the line '" + line.substr(0, 40) + "'");
  }
  return names;
}

void SaveNames(mlpack::util::Params& params,
               const DataNames& names,
               const arma::mat& parameters)
{
  if (!Writes() || !params.Has("output_model"))
    return;
  const std::string path = NamesFile(params, "output_model");
  std::ostringstream text;
  text << NamesHead << "\nmodel " << ModelTag(parameters)[0].second << "\n";
  for (const TableColumn& column : names.columns)
  {
    text << "column " << column.name << "\n";
    for (const std::string& word : column.words)
      text << "word " << word << "\n";
  }
  if (names.labelColumn != NoColumn)
    text << "label " << names.labelColumn << " " << names.labelName << "\n";
  for (const std::string& name : names.classes)
    text << "class " << name << "\n";
  const bool empty = names.classes.empty() && !Named(names.columns) &&
      !HasWords(names.columns);
  AfterModel() = [path, empty, content = text.str()]()
  {
    if (!empty)
      return SaveFile(path, [&](std::ostream& out) { out << content; });
    // Of the model that was there before.
    std::ifstream file(path);
    std::string line;
    if (file && std::getline(file, line) && line == NamesHead)
      std::remove(path.c_str());
  };
  // mlpack's own front end does not call it.
  if (!ReportsUnwritten())
    AfterModel()();
}

} // namespace cli
} // namespace dasgd
