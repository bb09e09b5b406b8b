// SPDX-License-Identifier: BSD-2-Clause
#include "bench/report_page.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "bench/figure_words.h"
#include "bench/html.h"
#include "bench/json_schema.h"
#include "bench/printable.h"
#include "bench/refusal.h"
#include "bench/report_figures.h"
#include "bench/report_style.h"

namespace hpz::bench {
namespace {

constexpr const char *kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    // Nothing is fetched, and nothing in the page runs, whatever it says.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n";

// Of the context: what the machine is, and how it was measured. The rest is of the experiment.
constexpr std::pair<std::string_view, std::string_view> kFacts[] = {
    {"cpu_model", "CPU"},
    {"cpu_identity", "identity"},
    {"cpu_microcode", "microcode"},
    {"num_cpus", "CPUs"},
    {"cpu_caches", "caches"},
    {"cpu_features", "features that matter"},
    {"cpu_governor", "frequency governor"},
    {"virtual_machine", "virtual machine"},
    {"linux", "Linux"},
    {"transparent_huge_pages", "transparent huge pages"},
    {"huge_pages_2m", "huge pages of 2 MiB"},
    {"huge_pages_1g", "huge pages of 1 GiB"},
    {"hpzero_version", "libhpzero"},
    {"hpzero_build", "built"},
    {"hpzero_kernels", "kernels that run here"},
    {"hpzero_plan_source", "where the plan comes from"},
    {"hpzero_plan_auto", "plan of hpz_zero"},
    {"hpzero_plan_cached", "plan of hpz_zero_cached"},
    {"hpzero_plan_stream", "plan of hpz_zero_stream"},
    {"hpzero_probe", "sizes at which the cache is asked"},
    {"clock", "clock"},
    {"clock_source", "what the kernel has for it"},
    {"clock_cost_ns", "ns to read it"},
    {"pinned_to_cpu", "pinned to CPU"},
    {"date", "measured"},
    {"hpzero_schema", "schema of the file"},
};

// Google Benchmark's, which say nothing here or something misleading.
constexpr std::string_view kUninteresting[] = {
    "executable",   "mhz_per_cpu", "host_name",      "library_build_type",  "cpu_scaling_enabled",
    "aslr_enabled", "warnings",    "hpzero_command", "json_schema_version", "library_version"};

struct Section {
  std::string title, lead;
  std::vector<Figure> (*figures)(const ResultsFile &, RowStyles &);
};

template <std::vector<Figure> (*of)(const ResultsFile &)>
std::vector<Figure> without_styles(const ResultsFile &file, RowStyles &) {
  return of(file);
}

const Section kSections[] = {
    {"Rate by size",
     "How fast each kernel clears a range of that size, by one thread. Rings mark the kernel that "
     "the library's plan has chosen.",
     size_figures},
    {"Scaling with threads", "One job, by more and more threads, on the memory of each node.",
     thread_figures},
    {"Times beside published ones",
     "What is saved by not mapping memory, not clearing it twice, not describing all of it; and "
     "what others have published of the same.",
     without_styles<part_figures>},
    {"Waiting for clean pages",
     "A pool has pages cleared before they are asked for; the kernel clears them at the first "
     "touch.",
     wait_figures},
    {"What clearing costs by-standers",
     "Clearing sweeps caches: whoever had something there reads it from memory again.",
     without_styles<bystander_figures>},
    {"Short calls", "Below a few hundred bytes the call is most of it.", call_figures},
    {"More figures", "", without_styles<other_figures>},
};

std::string paragraph(const std::string &text, const char *style = "") {
  if (text.empty()) return "";
  return "<p" + (*style == '\0' ? std::string() : " class=\"" + std::string(style) + "\"") + ">" +
         escape_html(text) + "</p>\n";
}

std::string shown_name(const ResultsFile &file) {
  const std::string command = file.context_value("hpzero_command");
  const std::string path = without_controls(file.path);
  return command.empty() ? path : command + " (" + path + ")";
}

std::string render_figure(const Figure &figure, const std::string &id, const DrawChart &draw) {
  return "<figure id=\"" + id + "\">\n<figcaption><h4>" + escape_html(figure.title) + "</h4>" +
         paragraph(figure.sentence) + "</figcaption>\n" + draw(figure.chart, id) +
         "<details><summary>The figures as a table</summary>\n" + render_html(figure.table) +
         "</details>\n</figure>\n";
}

std::string fact_of(const std::vector<ResultsFile> &files, std::string_view key) {
  std::vector<std::string> values;
  std::string all;
  for (const ResultsFile &file : files) {
    const std::string value = file.context_value(key);
    if (value.empty() || std::find(values.begin(), values.end(), value) != values.end()) continue;
    values.push_back(value);
    all += (all.empty() ? "" : " | ") + value;
  }
  return all;
}

std::string render_facts(const std::vector<ResultsFile> &files) {
  HtmlTable table;
  table.caption = "As the files say it; where they differ, by |.";
  table.has_text = true;
  for (const auto &[key, title] : kFacts) {
    const std::string value = fact_of(files, key);
    if (!value.empty()) table.rows.push_back({std::string(title), std::string(key), {{value, ""}}});
  }
  return render_html(table);
}

// What the experiments keep beside their samples.
std::string render_remarks(const std::vector<ResultsFile> &files) {
  std::string text;
  for (const ResultsFile &file : files) {
    HtmlTable table;
    table.caption = shown_name(file);
    table.has_text = true;
    for (const auto &[key, value] : file.context) {
      const auto is_key = [&key = key](const auto &fact) { return fact.first == key; };
      if (value.empty() || std::any_of(std::begin(kFacts), std::end(kFacts), is_key) ||
          std::find(std::begin(kUninteresting), std::end(kUninteresting), key) !=
              std::end(kUninteresting)) {
        continue;
      }
      table.rows.push_back({key, "", {{value, ""}}});
    }
    if (!table.rows.empty()) text += render_html(table);
  }
  return text.empty() ? ""
                      : "<details><summary>What the experiments kept beside their samples</summary>"
                        "\n" +
                            text + "</details>\n";
}

std::vector<std::string> warnings_of(const std::vector<ResultsFile> &files) {
  std::vector<std::string> all;
  for (const ResultsFile &file : files) {
    const std::string joined = file.context_value(kWarningsKey);
    if (joined.empty()) continue;
    const std::string command = file.context_value("hpzero_command");
    all.push_back((command.empty() ? file.path : command) + ": " + joined);
  }
  return all;
}

std::string render_list(const std::vector<std::string> &lines) {
  std::string text = "<ul>\n";
  for (const std::string &line : lines) text += "<li>" + escape_html(line) + "</li>\n";
  return text + "</ul>\n";
}

// For the inside of an address.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == ',' || c == '.' || c == '_' || c == '/' ||
                          c == '-';
    if (is_plain) {
      out += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
      out += code;
    }
  }
  return out;
}

std::string plain_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

// Names are free of blanks, but not of commas and quotes.
std::string csv_text(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// Every sample, so that the page can be recomputed from itself.
std::string samples_csv(const std::vector<ResultsFile> &files) {
  std::string text = "command,name,round,visit";
  for (const SampleField &field : kSampleFields) text += "," + std::string(field.name);
  text += ",more\n";
  for (const ResultsFile &file : files) {
    const std::string command = file.context_value("hpzero_command");
    for (const RecordedTask &task : file.tasks) {
      for (const RecordedSample &recorded : task.samples) {
        const Sample &sample = recorded.sample;
        text += csv_text(command) + "," + csv_text(task.name) + "," +
                std::to_string(recorded.round) + "," + std::to_string(recorded.visit);
        for (const SampleField &field : kSampleFields) {
          text += ",";
          if (field.is_in(sample)) text += plain_number(field.value(sample));
        }
        text += ",";
        std::string more;
        for (const auto &[key, value] : sample.more) {
          more += (more.empty() ? "" : " ") + key + "=" + plain_number(value);
        }
        text += more.empty() ? "\n" : csv_text(more) + "\n";
      }
    }
  }
  return text;
}

std::string machine_title(const std::vector<ResultsFile> &files) {
  const std::string model = fact_of(files, "cpu_model");
  return model.empty() ? "an unknown machine" : model;
}

struct Rendered {
  std::string contents, body;
};

// All experiments on four kinds of pages make some 60; each takes gnuplot a moment.
constexpr size_t kMostFigures = 300;

Rendered render_sections(const std::vector<ResultsFile> &files, const DrawChart &draw) {
  Rendered rendered;
  RowStyles styles;
  int number = 0, section_number = 0;
  for (const Section &section : kSections) {
    std::string body;
    for (const ResultsFile &file : files) {
      const std::vector<Figure> figures = section.figures(file, styles);
      if (figures.empty()) continue;
      if (static_cast<size_t>(number) + figures.size() > kMostFigures) {
        throw Refusal("'" + file.path + "' would make more than " + std::to_string(kMostFigures) +
                      " charts: give fewer files, or measure fewer kinds of pages at once");
      }
      // Which file, where several have figures of the same.
      const auto same = std::count_if(files.begin(), files.end(), [&](const ResultsFile &other) {
        return other.context_value("hpzero_command") == file.context_value("hpzero_command");
      });
      if (same > 1) body += paragraph("From " + shown_name(file) + ":", "file");
      std::string group;
      for (const Figure &figure : figures) {
        if (!figure.group.empty() && figure.group != group) {
          body += "<h3>" + escape_html(figure.group) + "</h3>\n";
        }
        group = figure.group;
        body += render_figure(figure, "figure" + std::to_string(++number), draw);
      }
    }
    if (body.empty()) continue;
    const std::string id = "section" + std::to_string(++section_number);
    rendered.contents +=
        "<li><a href=\"#" + id + "\">" + escape_html(section.title) + "</a></li>\n";
    rendered.body += "<section id=\"" + id + "\">\n<h2>" + escape_html(section.title) + "</h2>\n" +
                     paragraph(section.lead) + body + "</section>\n";
  }
  return rendered;
}

}  // namespace

std::string render_report(const std::vector<ResultsFile> &files, const ReportNotes &notes,
                          const DrawChart &draw) {
  const std::string machine = machine_title(files);
  const std::string title = "How fast memory is cleared on " + machine;
  std::string page = std::string(kHead) + "<title>" + escape_html(title) + "</title>\n<style>\n" +
                     report_style() + "</style>\n</head>\n<body>\n<header>\n<h1>" +
                     escape_html(title) + "</h1>\n";
  page += paragraph("libhpzero " + fact_of(files, "hpzero_version") + ", Linux " +
                        fact_of(files, "linux") + ", measured " +
                        files.front().context_value("date") + ". " + notes.how,
                    "lead");
  const std::vector<Headline> found = headlines(files);
  if (!found.empty()) {
    page += "<ul class=\"tiles\">\n";
    for (const Headline &headline : found) {
      page += "<li><b>" + escape_html(headline.figure) + "</b><span>" +
              escape_html(headline.meaning) + "</span></li>\n";
    }
    page += "</ul>\n";
  }
  page += "</header>\n<main>\n";
  const Rendered sections = render_sections(files, draw);
  const std::vector<std::string> warnings = warnings_of(files);
  page += "<nav aria-label=\"Contents\"><ul>\n" + sections.contents;
  if (!warnings.empty() || !notes.lines.empty()) {
    page += "<li><a href=\"#warnings\">Warnings</a></li>\n";
  }
  page += "<li><a href=\"#machine\">The machine</a></li>\n</ul></nav>\n";
  if (!warnings.empty() || !notes.lines.empty()) {
    page +=
        "<section id=\"warnings\" class=\"warnings\">\n<h2>Before you trust these figures</h2>\n";
    std::vector<std::string> lines = notes.lines;
    lines.insert(lines.end(), warnings.begin(), warnings.end());
    page += render_list(lines) + "</section>\n";
  }
  page += sections.body;
  page += "<section id=\"machine\">\n<h2>The machine</h2>\n" + render_facts(files) +
          render_remarks(files) + "</section>\n";
  page += "</main>\n<footer>\n";
  page += paragraph(
      "GB/s are decimal: 10^9 bytes a second. Medians are of rounds in which every row had one "
      "turn; ratios are medians of ratios within a round.");
  page +=
      "<p>Every figure can be recomputed: <a download=\"hpzero-samples.csv\" "
      "href=\"data:text/csv,";
  page += percent_encoded(samples_csv(files));
  page += "\">all samples, as CSV</a>, are in this page.</p>\n</footer>\n</body>\n</html>\n";
  return page;
}

ReportPicture picture_of(const std::vector<ResultsFile> &files) {
  ReportPicture picture;
  picture.title = "How fast memory is cleared on " + machine_title(files);
  RowStyles styles;
  for (const Section &section : kSections) {
    for (const ResultsFile &file : files) {
      std::vector<Figure> figures = section.figures(file, styles);
      if (figures.empty()) continue;
      const std::string group = figures.front().group;
      if (!group.empty()) picture.title += " (" + group + ")";
      for (Figure &figure : figures) {
        const bool fits = picture.charts.empty() ||
                          (picture.charts.size() < 3 && figure.group == group &&
                           figure.chart.bars.empty() && picture.charts.front().bars.empty());
        if (!fits) continue;
        figure.chart.title = figure.title;
        picture.charts.push_back(std::move(figure.chart));
      }
      return picture;
    }
  }
  return picture;
}

}  // namespace hpz::bench
