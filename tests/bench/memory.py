# SPDX-License-Identifier: BSD-2-Clause
#
# What tests that need more memory than small machines have ask first.
import re


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"MemAvailable: +(\d+)", file.read())[1]) << 10
