/* SPDX-License-Identifier: GPL-2.0 */
/* C library declarations that a controller may include in a kernel module, where there is no C
 * library. */
#ifndef DUMBBELL_STDINT_H
#define DUMBBELL_STDINT_H

#include <linux/types.h>

#define INT8_MIN (-0x7f - 1)
#define INT16_MIN (-0x7fff - 1)
#define INT32_MIN (-0x7fffffff - 1)
#define INT64_MIN (-0x7fffffffffffffffll - 1)
#define INT8_MAX 0x7f
#define INT16_MAX 0x7fff
#define INT32_MAX 0x7fffffff
#define INT64_MAX 0x7fffffffffffffffll
#define UINT8_MAX 0xff
#define UINT16_MAX 0xffff
#define UINT32_MAX 0xffffffffu
#define UINT64_MAX 0xffffffffffffffffull
#define INT64_C(c) c##ll
#define UINT64_C(c) c##ull
#define INT32_C(c) c
#define UINT32_C(c) c##u

#endif
