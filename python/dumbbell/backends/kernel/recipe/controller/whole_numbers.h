/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel saves no floating-point registers for its own code: a controller that counts with them
 * would change the numbers of whatever program it interrupts. */
#ifndef __ASSEMBLY__
#pragma GCC poison float double _Complex
#endif
