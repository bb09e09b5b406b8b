// SPDX-License-Identifier: BSD-2-Clause
//
// Text, tables and titles as HTML. Whatever goes through here is text and nothing else. Pure.
#ifndef HPZERO_BENCH_HTML_H
#define HPZERO_BENCH_HTML_H

#include <string>
#include <string_view>
#include <vector>

namespace hpz::bench {

// For the inside of an element or of an attribute in quotes.
std::string escape_html(std::string_view text);

struct HtmlCell {
  std::string text;
  std::string mark;  // a class of the page's style; empty: none
};

struct HtmlTable {
  std::string caption;
  std::vector<std::string> heading;
  struct Row {
    std::string name, id;  // id: as the file has it, if that is not the name
    std::vector<HtmlCell> cells;
  };
  std::vector<Row> rows;
  bool has_text = false;  // cells are prose and no figures
};
std::string render_html(const HtmlTable &table);

}  // namespace hpz::bench

#endif
