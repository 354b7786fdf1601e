/**
 * @file help.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "help.hpp"
#include "documentation.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

namespace dasgd {
namespace cli {

using mlpack::Log::Fatal;

namespace {

//! A part of the list of parameters.
struct Group
{
  std::string title;
  std::vector<ParamData*> parameters;
};

//! The parameters of a binding, grouped: required, optional, output.
std::vector<Group> Groups(Params& params)
{
  std::vector<Group> groups = { { "Required input options", {} },
      { "Optional input options", {} }, { "Optional output options", {} } };
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    groups[!data.input ? 2 : data.required ? 0 : 1].parameters.push_back(&data);
  }
  return groups;
}

//! Something of each parameter that can be given on the command line.
std::string OfOptions(
    Params& params,
    const std::function<std::string(const Kind&, const ParamData&)>& text)
{
  std::string all;
  for (const Group& group : Groups(params))
  {
    for (ParamData* data : group.parameters)
    {
      const Kind& kind = KindOf(params, *data);
      if (data->input || kind.InFile())
        all += text(kind, *data);
    }
  }
  return all;
}

//! The description of a parameter, with its default.
std::string Description(const Kind& kind, const ParamData& data)
{
  const std::string value = (data.input && !data.required) ?
      kind.Default(data) : "";
  return data.desc + (value.empty() ? "" : "  Default value " + value + ".");
}

//! One entry of the list: name and type in a column of 32 characters.
std::string Entry(Params& params, ParamData& data)
{
  const Kind& kind = KindOf(params, data);
  std::string text = "  --" + OptionName(data) + (data.alias == '\0' ? "" :
      " (-" + std::string(1, data.alias) + ")") + " [" + kind.Type(data) +
      "]";
  text += (text.size() <= 30) ? std::string(32 - text.size(), ' ') :
      "\n" + std::string(32, ' ');
  return text + mlpack::util::HyphenateString(Description(kind, data), 32) +
      "\n";
}

//! What the program is for, at length, and examples.
std::vector<std::string> LongTexts(Params& params)
{
  std::vector<std::string> texts;
  if (params.Doc().longDescription)
    texts.push_back(params.Doc().longDescription());
  for (const std::function<std::string()>& example : params.Doc().example)
    texts.push_back(example());
  return texts;
}

//! Text for a manual page: what troff would take for orders is escaped.
std::string Troff(const std::string& text)
{
  std::string escaped;
  bool lineBegins = true;
  for (const char c : text)
  {
    if (lineBegins && (c == '.' || c == '\''))
      escaped += "\\&";
    lineBegins = (c == '\n');
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

//! Calls stand as they are, all else is filled; paragraphs are apart.
std::string Paragraphs(
    const std::string& text,
    const std::function<std::string(const std::string&)>& prose,
    const std::function<std::string(const std::string&)>& call)
{
  std::string result;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line))
  {
    if (line.find_first_not_of(' ') == std::string::npos)
      continue;
    const bool isCall = line.rfind("$ ", 0) == 0 || line.rfind("  ", 0) == 0;
    result += isCall ? call(line) : prose(line);
  }
  return result;
}

} // namespace

std::string Help(Params& params)
{
  std::string text = params.Doc().name + "\n\n";
  for (const std::string& part : LongTexts(params))
    text += "  " + mlpack::util::HyphenateString(part, "  ", true) + "\n\n";
  for (const Group& group : Groups(params))
  {
    if (group.parameters.empty())
      continue;
    text += group.title + ":\n\n";
    for (ParamData* data : group.parameters)
      text += Entry(params, *data);
    text += "\n";
  }
  return text + "More on mlpack and its methods: http://www.mlpack.org\n";
}

std::string Info(Params& params, const std::string& asked)
{
  std::string name = asked.substr(std::min(asked.size(),
      asked.find_first_not_of('-')));
  const auto alias = (name.size() == 1) ? params.Aliases().find(name[0]) :
      params.Aliases().end();
  if (alias != params.Aliases().end())
    name = alias->second;
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    if (data.name == name || OptionName(data) == name)
      return Entry(params, data);
  }
  Fatal << "Parameter '--" << name << "' does not exist; see --help!"
      << std::endl;
  return "";
}

std::string ManPage(Params& params, const std::string& version)
{
  const std::string program = ProgramName(params.BindingName());
  std::string text = ".TH \"" + Troff(program) + "\" 1 \"\" \"" +
      Troff(version) + "\" \"User Commands\"\n.SH NAME\n" + Troff(program) +
      " \\- " + Troff(params.Doc().name) + "\n.SH SYNOPSIS\n.B " +
      Troff(program) + "\n";
  text += OfOptions(params, [](const Kind& kind, const ParamData& data)
  {
    const std::string option = "\\fB" + Troff("--" + OptionName(data)) +
        "\\fR" + (kind.Flag() ? "" : " \\fI" + Troff(kind.Type(data)) +
        "\\fR");
    return data.required ? option + "\n" : "[" + option + "]\n";
  });
  text += ".SH DESCRIPTION\n";
  bool first = true;
  for (const std::string& part : LongTexts(params))
  {
    if (!first)
      text += ".SH EXAMPLE\n";
    first = false;
    text += Paragraphs(part,
        [](const std::string& line) { return ".PP\n" + Troff(line) + "\n"; },
        [](const std::string& line)
        { return ".PP\n.nf\n.RS\n" + Troff(line) + "\n.RE\n.fi\n"; });
  }
  for (const Group& group : Groups(params))
  {
    if (group.parameters.empty())
      continue;
    std::string title = group.title;
    std::transform(title.begin(), title.end(), title.begin(), ::toupper);
    text += ".SH " + title + "\n";
    for (ParamData* data : group.parameters)
    {
      const Kind& kind = KindOf(params, *data);
      text += ".TP\n\\fB" + Troff("--" + OptionName(*data)) + "\\fR" +
          (data->alias == '\0' ? "" : " (\\fB" +
          Troff("-" + std::string(1, data->alias)) + "\\fR)") + " [\\fI" +
          Troff(kind.Type(*data)) + "\\fR]\n" +
          Troff(Description(kind, *data)) + "\n";
    }
  }
  return text;
}

std::string Completion(Params& params)
{
  const std::string program = ProgramName(params.BindingName());
  std::string options = OfOptions(params, [](const Kind&, const ParamData& data)
      { return " --" + OptionName(data); });
  options.erase(0, 1);
  return "_" + program + "()\n{\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"" + options + "\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _" + program + " " + program + "\n";
}

std::string Markdown(Params& params)
{
  const std::string program = ProgramName(params.BindingName());
  std::string text = "## " + program + "\n\n" + params.Doc().shortDescription +
      "\n\n```bash\n$ " + program;
  text += OfOptions(params, [](const Kind& kind, const ParamData& data)
  {
    const std::string option = "--" + OptionName(data) + (kind.Flag() ? "" :
        " <" + kind.Type(data) + ">");
    return " \\\n    " + (data.required ? option : "[" + option + "]");
  });
  text += "\n```\n\n";
  for (const Group& group : Groups(params))
  {
    if (group.parameters.empty())
      continue;
    text += "### " + group.title + "\n\n| name | type | description | default "
        "|\n| --- | --- | --- | --- |\n";
    for (ParamData* data : group.parameters)
    {
      const Kind& kind = KindOf(params, *data);
      const std::string value = (data->input && !data->required) ?
          kind.Default(*data) : "";
      text += "| `--" + OptionName(*data) + "`" + (data->alias == '\0' ? "" :
          " (`-" + std::string(1, data->alias) + "`)") + " | " +
          kind.Type(*data) + " | " + data->desc + " | " +
          (value.empty() ? "" : "`" + value + "`") + " |\n";
    }
    text += "\n";
  }
  bool first = true;
  for (const std::string& part : LongTexts(params))
  {
    text += first ? "### Detailed documentation\n\n" : "### Example\n\n";
    first = false;
    text += Paragraphs(part,
        [](const std::string& line) { return line + "\n\n"; },
        [](const std::string& line)
        { return "```bash\n" + line + "\n```\n\n"; });
  }
  return text;
}

} // namespace cli
} // namespace dasgd
