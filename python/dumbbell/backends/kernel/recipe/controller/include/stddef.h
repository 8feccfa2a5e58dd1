/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>
#include <linux/stddef.h>
