/**
 * @file command_line.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "command_line.hpp"

#include <terminal/suggest.hpp>

#include <CLI/CLI.hpp>

namespace dasgd {
namespace cli {

using mlpack::Log::Fatal;

namespace {

//! The option that was probably meant, as a question; or nothing.
std::string SuggestOption(Params& params, const std::string& word)
{
  const std::string asked = word.substr(0, word.find('='));
  std::vector<std::string> known;
  std::map<std::string, std::string> names;
  for (auto& entry : params.Parameters())
  {
    // "--trainin" is nearer to "--training" than to "--training_file".
    known.push_back("--" + OptionName(entry.second));
    const std::string end = "_file";
    const std::string& full = known.back();
    if (full.size() > end.size() && full.compare(full.size() - end.size(),
        end.size(), end) == 0)
      names[full.substr(0, full.size() - end.size())] = full;
  }
  for (const auto& name : names)
    known.push_back(name.first);
  const std::string best = Nearest(asked, known);
  if (best.empty())
    return "";
  const auto full = names.find(best);
  return "; did you mean '" + (full == names.end() ? best : full->second) +
      "'?";
}

} // namespace

void ParseCommandLine(Params& params, const int argc, char** argv)
{
  CLI::App app;
  app.set_help_flag(); // --help is a parameter like others.
  std::map<std::string, std::vector<std::string>> words;
  std::map<std::string, CLI::Option*> options;
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    // What a program puts out without a file is printed.
    if (!data.input && !kind.InFile())
      continue;
    const std::string names = "--" + OptionName(data) + (data.alias == '\0' ?
        "" : ",-" + std::string(1, data.alias));
    CLI::Option* option = kind.Flag() ? app.add_flag(names) :
        app.add_option(names, words[data.name]);
    if (kind.Many())
      option->delimiter(',');
    else if (!kind.Flag())
      option->expected(1);
    options[data.name] = option;
  }

  try
  {
    app.parse(argc, argv);
  }
  catch (const CLI::ParseError& error)
  {
    std::string text = error.what();
    text = text.substr(0, text.find('\n'));
    // The word that nobody expected stands at the end.
    if (dynamic_cast<const CLI::ExtrasError*>(&error))
      text += SuggestOption(params, text.substr(text.rfind(' ') + 1));
    const std::string name = text.substr(0, text.find(':'));
    if (text.find("At Most 1 required") != std::string::npos)
    {
      text = name + " takes one value, but more were given; name it once, and "
          "put a value with blanks into quotes";
    }
    else if (text.find("1 required") != std::string::npos)
      text = name + " needs a value";
    if (text.back() != '?')
      text += '.';
    Fatal << text << "  Run with --help for more information." << std::endl;
  }

  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const auto option = options.find(data.name);
    if (option == options.end() || option->second->count() == 0)
      continue;
    KindOf(params, data).Parse(data, words[data.name]);
    data.wasPassed = true;
  }
}

void CheckRequired(Params& params)
{
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    if (data.required && !data.wasPassed)
    {
      Fatal << "Required option --" << OptionName(data)
          << " is undefined." << std::endl;
    }
  }
}

} // namespace cli
} // namespace dasgd
