// SPDX-License-Identifier: BSD-2-Clause
#include "bench/html.h"

namespace hpz::bench {
namespace {

std::string row_name(const HtmlTable::Row &row) {
  std::string text = escape_html(row.name);
  if (!row.id.empty() && row.id != row.name) text += " <code>" + escape_html(row.id) + "</code>";
  return text;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string render_html(const HtmlTable &table) {
  std::string text = "<div class=\"scroll\" tabindex=\"0\"><table";
  if (table.has_text) text += " class=\"prose\"";
  text += ">\n<caption>" + escape_html(table.caption) + "</caption>\n";
  if (!table.heading.empty()) {
    text += "<thead><tr>";
    for (const std::string &cell : table.heading) {
      text += "<th scope=\"col\">" + escape_html(cell) + "</th>";
    }
    text += "</tr></thead>\n";
  }
  text += "<tbody>\n";
  for (const HtmlTable::Row &row : table.rows) {
    text += "<tr><th scope=\"row\">" + row_name(row) + "</th>";
    for (const HtmlCell &cell : row.cells) {
      text += cell.mark.empty() ? "<td>" : "<td class=\"" + escape_html(cell.mark) + "\">";
      text += escape_html(cell.text) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace hpz::bench
