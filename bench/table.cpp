// SPDX-License-Identifier: BSD-2-Clause
#include "bench/table.h"

#include <algorithm>
#include <cstdio>

#include "bench/plan.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// Rows that any of the cells has, in the order of the table.
std::vector<const RowResult *> all_rows(const std::vector<const CellResult *> &cells) {
  std::vector<const RowResult *> rows;
  for (const CellResult *cell : cells) {
    auto place = rows.begin();
    for (const RowResult &row : cell->rows) {
      const auto found = std::find_if(rows.begin(), rows.end(),
                                      [&](const RowResult *r) { return r->id == row.id; });
      // A row that only this cell has goes behind the one it follows here.
      place = found != rows.end() ? found + 1 : rows.insert(place, &row) + 1;
    }
  }
  return rows;
}

const RowResult *measured(const CellResult &cell, const std::string &id) {
  const RowResult *const row = find_row(cell, id);
  return row == nullptr || row->samples.empty() ? nullptr : row;
}

std::vector<std::string> size_heading(const std::vector<const CellResult *> &cells,
                                      std::string first) {
  std::vector<std::string> heading{std::move(first)};
  for (const CellResult *cell : cells) heading.push_back(format_size(cell->cell.size));
  return heading;
}

bool has_bystander(const CellResult &cell) {
  return std::any_of(cell.rows.begin(), cell.rows.end(),
                     [](const RowResult &row) { return slow_down(row.samples, &Sample::l2) > 0; });
}

std::string render_rates(const std::vector<const CellResult *> &cells) {
  TextTable table;
  std::vector<std::string> heading{"GB/s"};
  for (const CellResult *cell : cells) {
    heading.push_back(format_size(cell->cell.size));
    if (has_bystander(*cell)) heading.emplace_back("L2 after");
  }
  table.add_row(std::move(heading));
  for (const RowResult *row : all_rows(cells)) {
    std::vector<std::string> line{row->title};
    for (const CellResult *cell : cells) {
      const RowResult *const here = measured(*cell, row->id);
      if (here == nullptr) {
        line.emplace_back("-");
        if (has_bystander(*cell)) line.emplace_back("-");
        continue;
      }
      const Summary summary = summarize(rates(here->samples));
      const bool is_pick = row->id == auto_kernel(cell->cell.state, cell->cell.size);
      const std::string percent = decimals(summary.spread * 100, 0);
      line.push_back((is_pick ? "* " : "") + format_rate(summary.median) +
                     (percent.size() == 1 ? " +- " : " +-") + percent + "%");
      if (!has_bystander(*cell)) continue;
      const double times = slow_down(here->samples, &Sample::l2);
      line.push_back(times > 0 ? format_ratio(times) : "-");
    }
    table.add_row(std::move(line));
  }
  return table.text();
}

std::string render_ratios(const std::vector<const CellResult *> &cells,
                          const std::string &reference) {
  TextTable table;
  table.add_row(size_heading(cells, "ratio to " + reference));
  for (const RowResult *row : all_rows(cells)) {
    std::vector<std::string> line{row->title};
    for (const CellResult *cell : cells) {
      const RowResult *const here = measured(*cell, row->id);
      const RowResult *const under = measured(*cell, reference);
      line.push_back(here == nullptr || under == nullptr
                         ? "-"
                         : format_ratio(paired_ratio(here->samples, under->samples)));
    }
    table.add_row(std::move(line));
  }
  return table.text();
}

std::string render_regrets(const std::vector<const CellResult *> &cells) {
  TextTable table;
  bool has_heading = false;
  for (const CellResult *cell : cells) {
    const std::vector<Regret> judged = regrets(*cell);
    const RowResult *const best = best_kernel(*cell);
    if (judged.empty() || best == nullptr) continue;
    if (!has_heading) {
      std::vector<std::string> heading{"regret", "best kernel", "GB/s", "hpz_zero picks"};
      for (const Regret &regret : judged) heading.push_back(regret.policy);
      table.add_row(std::move(heading));
      has_heading = true;
    }
    std::vector<std::string> line{format_size(cell->cell.size), best->id,
                                  format_rate(summarize(rates(best->samples)).median),
                                  auto_kernel(cell->cell.state, cell->cell.size)};
    for (const Regret &regret : judged) {
      line.push_back(regret.ratio == 0 ? "-" : format_ratio(regret.ratio));
    }
    table.add_row(std::move(line));
  }
  return table.text();
}

}  // namespace

std::string render_context(const ContextEntries &entries) {
  TextTable table;
  for (const auto &[key, value] : entries) {
    // Left-aligned values need no second column.
    std::string line = key;
    line.resize(std::max<size_t>(24, key.size() + 1), ' ');
    table.add_row({line + value});
  }
  return table.text();
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (const auto &row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto &row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        line += "  " + row[i] + pad;
      } else {
        line += "  " + pad + row[i];
      }
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string count_of(uint64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string format_percent(double part, int digits) {
  std::string text = decimals(part * 100, digits);
  if (digits > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text + " %";
}

std::string format_rate(double rate) {
  if (rate >= 99.95) return decimals(rate, 0);
  return decimals(rate, rate >= 9.995 ? 1 : 2);
}

std::string format_ratio(double ratio) {
  return decimals(ratio, 2);
}

std::vector<Regret> regrets(const CellResult &result) {
  const RowResult *const best = best_kernel(result);
  if (best == nullptr) return {};
  std::vector<std::string> policies;
  if (result.cell.state == MemoryState::kRecycled) policies = {"hpz_zero", "hpz_zero_cached"};
  if (result.cell.state == MemoryState::kCold) policies = {"hpz_zero", "hpz_zero_stream"};
  std::vector<Regret> judged;
  bool has_any = false;
  for (const std::string &policy : policies) {
    const RowResult *const row = measured(result, policy);
    judged.push_back({policy, row == nullptr ? 0 : paired_ratio(row->samples, best->samples)});
    has_any = has_any || row != nullptr;
  }
  if (!has_any) judged.clear();
  return judged;
}

std::string render_results(const std::vector<const CellResult *> &cells,
                           const std::string &reference) {
  std::string text = render_rates(cells);
  if (!reference.empty()) text += "\n" + render_ratios(cells, reference);
  const std::string judged = render_regrets(cells);
  if (!judged.empty()) text += "\n" + judged;
  return text;
}

}  // namespace hpz::bench
