/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_traits.h: the properties of types that softcuda's headers need
 *
 * C++'s own header would define names in std, which NVRTC does not have.
 */

#ifndef SOFTCUDA_TRAITS_H
#define SOFTCUDA_TRAITS_H

template <typename T> inline constexpr bool softcuda_is_float = false;
template <> inline constexpr bool softcuda_is_float<float> = true;
template <> inline constexpr bool softcuda_is_float<double> = true;
template <> inline constexpr bool softcuda_is_float<long double> = true;

template <typename T> inline constexpr bool softcuda_is_integer = false;
#define SOFTCUDA_INTEGER(type) \
  template <> inline constexpr bool softcuda_is_integer<type> = true;
SOFTCUDA_INTEGER (bool)
SOFTCUDA_INTEGER (char)
SOFTCUDA_INTEGER (signed char)
SOFTCUDA_INTEGER (unsigned char)
SOFTCUDA_INTEGER (wchar_t)
SOFTCUDA_INTEGER (char16_t)
SOFTCUDA_INTEGER (char32_t)
SOFTCUDA_INTEGER (short)
SOFTCUDA_INTEGER (unsigned short)
SOFTCUDA_INTEGER (int)
SOFTCUDA_INTEGER (unsigned int)
SOFTCUDA_INTEGER (long)
SOFTCUDA_INTEGER (unsigned long)
SOFTCUDA_INTEGER (long long)
SOFTCUDA_INTEGER (unsigned long long)
#undef SOFTCUDA_INTEGER

template <typename T>
inline constexpr bool softcuda_is_number =
    softcuda_is_integer<T> || softcuda_is_float<T>;

template <typename T> inline constexpr bool softcuda_is_signed = (T) -1 < (T) 0;

template <bool condition, typename T> struct softcuda_enable {
};
template <typename T> struct softcuda_enable<true, T> {
  using type = T;
};
template <bool condition, typename T = void>
using softcuda_if = typename softcuda_enable<condition, T>::type;

/* The numbers from 0 to N - 1 as arguments of a template. */
template <decltype (sizeof 0)... I> struct softcuda_indices {
};
template <decltype (sizeof 0) N, decltype (sizeof 0)... I>
struct softcuda_count : softcuda_count<N - 1, N - 1, I...> {
};
template <decltype (sizeof 0)... I> struct softcuda_count<0, I...> {
  using type = softcuda_indices<I...>;
};

#endif /* SOFTCUDA_TRAITS_H */
