/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a C program may do and a C++ program may not: an enum of any value. */
#include <hpzero/kernels.h>

int plan_info_get_by_number(int policy, struct hpz_plan_info *out);

int plan_info_get_by_number(int policy, struct hpz_plan_info *out) {
  return hpz_plan_info_get((enum hpz_policy)policy, out);
}
