/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/limits.h>
#include <vdso/limits.h>
