/* Attributes that are not in C17, as macros, so that the rest of the tree has none.
 *
 * A header of their own, below base.h, so that each header of base compiles on its own.
 */
#ifndef KILN_BASE_ATTR_H
#define KILN_BASE_ATTR_H

#if defined(__GNUC__)
#define KILN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KILN_NORETURN __attribute__((noreturn))
#define KILN_MUST_USE __attribute__((warn_unused_result))
#define KILN_RETURNS_NONNULL __attribute__((returns_nonnull))
#else
#define KILN_PRINTF(fmt, args)
#define KILN_NORETURN
#define KILN_MUST_USE
#define KILN_RETURNS_NONNULL
#endif

#endif
