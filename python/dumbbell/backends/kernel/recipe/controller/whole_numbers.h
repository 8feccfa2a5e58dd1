/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel does not save floating-point registers for its own code: a controller that uses them
 * would corrupt the registers of the program that it interrupts. */
#ifndef __ASSEMBLY__
#pragma GCC poison float double _Complex
#endif
