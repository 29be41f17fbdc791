/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcc-headers.c: the headers that sources for nvcc include, and NVRTC has not
 *
 * nvcc includes a part of the C library in front of every source. NVRTC has its
 * functions (printf(), assert(), malloc(), sinf() and others), but not its
 * constants, its types and its names in the namespace std. Headers of C++ are
 * those of libcu++, where a toolkit or a package of pip has them. The other
 * headers of the system are empty: a source may include them, as long as code
 * for the device does not use them.
 */

#include "nvcc.h"

#define VERSION "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)"

/* Constants of cuda_fp16.h and cuda_bf16.h, in their words. NVRTC has the
 * functions of these headers, and reads only a part of them. */
#define SMALL_FLOATS(end, function, inf, largest, one) \
  "#define CUDART_INF_" end " " function "((unsigned short)" inf ")\n" \
  "#define CUDART_NAN_" end " " function "((unsigned short)0x7FFFU)\n" \
  "#define CUDART_MIN_DENORM_" end " " function "((unsigned short)0x0001U)\n" \
  "#define CUDART_MAX_NORMAL_" end " " function "((unsigned short)" largest \
  ")\n" \
  "#define CUDART_NEG_ZERO_" end " " function "((unsigned short)0x8000U)\n" \
  "#define CUDART_ZERO_" end " " function "((unsigned short)0x0000U)\n" \
  "#define CUDART_ONE_" end " " function "((unsigned short)" one ")\n"

#define HALF_CONSTANTS \
  SMALL_FLOATS ("FP16", "__ushort_as_half", "0x7C00U", "0x7BFFU", "0x3C00U")
#define BFLOAT16_CONSTANTS \
  SMALL_FLOATS ("BF16", "__ushort_as_bfloat16", "0x7F80U", "0x7F7FU", "0x3F80U")

/* What nvcc knows in sources without any #include. */
static const char always[] =
    "#pragma once\n"
    /* Host functions are compiled for the device, since NVRTC refuses them. */
    "#undef __host__\n"
    "#define __host__ __device__\n"
    /* NVRTC refuses both words on lambdas. Functions and variables without
     * them are the device's anyway. */
    "#ifdef __CUDACC_EXTENDED_LAMBDA__\n"
    "#undef __device__\n"
    "#define __device__\n"
    "#endif\n"
    /* libcu++ has some macros with other tokens. */
    "#if __CUDACC_VER_MAJOR__ >= 12\n"
    "#pragma nv_diag_suppress 47\n"
    "#endif\n"
    "#ifndef CUDART_VERSION\n"
    "#define CUDART_VERSION " VERSION "\n"
    "#endif\n"
    "\n"
    "#define M_E 2.7182818284590452354\n"
    "#define M_LOG2E 1.4426950408889634074\n"
    "#define M_LOG10E 0.43429448190325182765\n"
    "#define M_LN2 0.69314718055994530942\n"
    "#define M_LN10 2.30258509299404568402\n"
    "#define M_PI 3.14159265358979323846\n"
    "#define M_PI_2 1.57079632679489661923\n"
    "#define M_PI_4 0.78539816339744830962\n"
    "#define M_1_PI 0.31830988618379067154\n"
    "#define M_2_PI 0.63661977236758134308\n"
    "#define M_2_SQRTPI 1.12837916709551257390\n"
    "#define M_SQRT2 1.41421356237309504880\n"
    "#define M_SQRT1_2 0.70710678118654752440\n"
    "#if defined(__SOFTCUDA__) || __CUDACC_VER_MAJOR__ >= 12\n"
    "#define INFINITY (__builtin_bit_cast (float, 0x7f800000))\n"
    "#define NAN (__builtin_bit_cast (float, 0x7fc00000))\n"
    "#define HUGE_VAL (__builtin_bit_cast (double, 0x7ff0000000000000ll))\n"
    "#else\n"
    "#define INFINITY (__int_as_float (0x7f800000))\n"
    "#define NAN (__int_as_float (0x7fc00000))\n"
    "#define HUGE_VAL (__longlong_as_double (0x7ff0000000000000ll))\n"
    "#endif\n"
    "#define HUGE_VALF INFINITY\n" HALF_CONSTANTS BFLOAT16_CONSTANTS "\n"
    "#define CHAR_BIT 8\n"
    "#define SCHAR_MIN (-128)\n"
    "#define SCHAR_MAX 127\n"
    "#define UCHAR_MAX 255\n"
    "#define CHAR_MIN SCHAR_MIN\n"
    "#define CHAR_MAX SCHAR_MAX\n"
    "#define SHRT_MIN (-SHRT_MAX - 1)\n"
    "#define SHRT_MAX 0x7fff\n"
    "#define USHRT_MAX 0xffff\n"
    "#define INT_MIN (-INT_MAX - 1)\n"
    "#define INT_MAX 0x7fffffff\n"
    "#define UINT_MAX 0xffffffff\n"
    "#define LONG_MIN (-LONG_MAX - 1)\n"
    "#define LONG_MAX LLONG_MAX\n"
    "#define ULONG_MAX ULLONG_MAX\n"
    "#define LLONG_MIN (-LLONG_MAX - 1)\n"
    "#define LLONG_MAX 0x7fffffffffffffffLL\n"
    "#define ULLONG_MAX 0xffffffffffffffffUL\n"
    "#define RAND_MAX 2147483647\n"
    "#define EXIT_SUCCESS 0\n"
    "#define EXIT_FAILURE 1\n"
    "#define offsetof(type, member) ((size_t) &((type *) 0)->member)\n"
    "#ifndef NULL\n"
    "#define NULL 0\n"
    "#endif\n"
    "\n"
    /* 64 bits are long long, as in libcu++: with nvcc, they are long. */
    "typedef signed char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef long long int64_t;\n"
    "typedef unsigned char u_int8_t;\n"
    "typedef unsigned short u_int16_t;\n"
    "typedef unsigned int u_int32_t;\n"
    "typedef unsigned long long u_int64_t;\n"
    "typedef unsigned char u_char;\n"
    "typedef unsigned short u_short, ushort;\n"
    "typedef unsigned int u_int, uint;\n"
    "typedef unsigned long u_long, ulong;\n"
    "typedef long ssize_t, off_t;\n"
    "\n"
    /* NVRTC has float and double functions, and finds those of other arguments
     * ambiguous. nvcc computes with double. A call that NVRTC takes, such as
     * fmax (a_float, 0), stays as it is. */
    "namespace vkgdr_nvcc {\n"
    "template <typename T> struct kind {\n"
    "  static const bool is_integer = false, is_number = false;\n"
    "};\n"
    "#define KIND(name, integer) \\\n"
    "  template <> struct kind<name> { \\\n"
    "    static const bool is_integer = integer, is_number = true; \\\n"
    "  };\n"
    "KIND (float, false) KIND (double, false) KIND (bool, true)\n"
    "KIND (char, true) KIND (signed char, true) KIND (unsigned char, true)\n"
    "KIND (short, true) KIND (unsigned short, true)\n"
    "KIND (int, true) KIND (unsigned int, true)\n"
    "KIND (long, true) KIND (unsigned long, true)\n"
    "KIND (long long, true) KIND (unsigned long long, true)\n"
    "#undef KIND\n"
    "template <typename A, typename B> struct pair {\n"
    "  static const bool is_number = kind<A>::is_number && "
    "kind<B>::is_number;\n"
    "  static const bool is_same =\n"
    "      is_number && kind<A>::is_integer == kind<B>::is_integer;\n"
    "  static const bool is_power =\n"
    "      is_same || (kind<A>::is_number && kind<B>::is_integer);\n"
    "};\n"
    "template <bool> struct result {};\n"
    "template <> struct result<true> { typedef double type; };\n"
    "}\n"
    "#define UNARY(name) \\\n"
    "  template <typename T> __device__ typename vkgdr_nvcc::result< \\\n"
    "      vkgdr_nvcc::kind<T>::is_integer>::type \\\n"
    "  name (T v) { return name ((double) v); }\n"
    "#define BINARY(name, condition) \\\n"
    "  template <typename A, typename B> __device__ typename \\\n"
    "  vkgdr_nvcc::result<vkgdr_nvcc::pair<A, B>::condition>::type \\\n"
    "  name (A a, B b) { return name ((double) a, (double) b); }\n"
    "#define WITH(name, second) \\\n"
    "  template <typename T> __device__ typename vkgdr_nvcc::result< \\\n"
    "      vkgdr_nvcc::kind<T>::is_integer>::type \\\n"
    "  name (T v, second other) { return name ((double) v, other); }\n"
    "UNARY (acos) UNARY (acosh) UNARY (asin) UNARY (asinh) UNARY (atan)\n"
    "UNARY (atanh) UNARY (cbrt) UNARY (ceil) UNARY (cos) UNARY (cosh)\n"
    "UNARY (erf) UNARY (erfc) UNARY (exp) UNARY (exp2) UNARY (expm1)\n"
    "UNARY (fabs) UNARY (floor) UNARY (lgamma) UNARY (log) UNARY (log10)\n"
    "UNARY (log1p) UNARY (log2) UNARY (logb) UNARY (nearbyint) UNARY (rint)\n"
    "UNARY (round) UNARY (sin) UNARY (sinh) UNARY (sqrt) UNARY (tan)\n"
    "UNARY (tanh) UNARY (tgamma) UNARY (trunc)\n"
    "BINARY (atan2, is_same)\n"
    "BINARY (fdim, is_same)\n"
    "BINARY (fmax, is_same)\n"
    "BINARY (fmin, is_same)\n"
    "BINARY (fmod, is_same)\n"
    "BINARY (hypot, is_same)\n"
    "BINARY (nextafter, is_same)\n"
    "BINARY (remainder, is_same)\n"
    "BINARY (copysign, is_number)\n"
    "BINARY (pow, is_power)\n"
    "WITH (frexp, int *) WITH (ldexp, int) WITH (scalbln, long)\n"
    "WITH (scalbn, int)\n"
    "#undef UNARY\n"
    "#undef BINARY\n"
    "#undef WITH\n"
    "\n"
    "namespace std {\n"
    "#if __cplusplus >= 201103L\n"
    "template <typename T> T &&declval () noexcept;\n"
    "#endif\n"
    "using ::size_t; using ::ptrdiff_t; using ::clock; using ::printf;\n"
    "using ::malloc; using ::free; using ::memcpy; using ::memset;\n"
    "using ::abs; using ::labs; using ::llabs;\n"
    "using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan;\n"
    "using ::atan2; using ::atanh; using ::cbrt; using ::ceil;\n"
    "using ::copysign; using ::cos; using ::cosh; using ::erf; using ::erfc;\n"
    "using ::exp; using ::exp2; using ::expm1; using ::fabs; using ::fdim;\n"
    "using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod;\n"
    "using ::frexp; using ::hypot; using ::ilogb; using ::ldexp;\n"
    "using ::lgamma; using ::llrint; using ::llround; using ::log;\n"
    "using ::log10; using ::log1p; using ::log2; using ::logb;\n"
    "using ::lrint; using ::lround; using ::modf; using ::nearbyint;\n"
    "using ::nextafter; using ::pow; using ::remainder; using ::remquo;\n"
    "using ::rint; using ::round; using ::scalbln; using ::scalbn;\n"
    "using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh;\n"
    "using ::tgamma; using ::trunc;\n"
    "using ::isfinite; using ::isinf; using ::isnan; using ::signbit;\n"
    "}\n";

static const char floats[] = "#pragma once\n"
                             "#define FLT_RADIX 2\n"
                             "#define FLT_MANT_DIG 24\n"
                             "#define FLT_DIG 6\n"
                             "#define FLT_MIN_EXP (-125)\n"
                             "#define FLT_MIN_10_EXP (-37)\n"
                             "#define FLT_MAX_EXP 128\n"
                             "#define FLT_MAX_10_EXP 38\n"
                             "#define FLT_MAX 3.40282347e+38F\n"
                             "#define FLT_EPSILON 1.19209290e-7F\n"
                             "#define FLT_MIN 1.17549435e-38F\n"
                             "#define FLT_TRUE_MIN 1.40129846e-45F\n"
                             "#define DBL_MANT_DIG 53\n"
                             "#define DBL_DIG 15\n"
                             "#define DBL_MIN_EXP (-1021)\n"
                             "#define DBL_MIN_10_EXP (-307)\n"
                             "#define DBL_MAX_EXP 1024\n"
                             "#define DBL_MAX_10_EXP 308\n"
                             "#define DBL_MAX 1.7976931348623157e+308\n"
                             "#define DBL_EPSILON 2.2204460492503131e-16\n"
                             "#define DBL_MIN 2.2250738585072014e-308\n"
                             "#define DBL_TRUE_MIN 4.9406564584124654e-324\n"
                             "#define DECIMAL_DIG 17\n";

#define TYPES(n, type) \
  "typedef int" n "_t int_least" n "_t, int_fast" n "_t;\n" \
  "typedef unsigned " type " uint" n "_t;\n" \
  "typedef uint" n "_t uint_least" n "_t, uint_fast" n "_t;\n"
#define LIMITS(n, name) \
  "#define INT" n "_MIN " name "_MIN\n" \
  "#define INT" n "_MAX " name "_MAX\n"
#define UNSIGNED_LIMITS(n, name) "#define UINT" n "_MAX " name "_MAX\n"
#define KINDS(n) \
  LIMITS ("_LEAST" n, "INT" n) \
  UNSIGNED_LIMITS ("_LEAST" n, "UINT" n) \
  LIMITS ("_FAST" n, "INT" n) UNSIGNED_LIMITS ("_FAST" n, "UINT" n)
#define CONSTANTS(n, end) \
  "#define INT" n "_C(c) c" end "\n" \
  "#define UINT" n "_C(c) c##U" end "\n"

static const char integers[] = "#pragma once\n" TYPES ("8", "char") TYPES (
    "16", "short") TYPES ("32", "int") TYPES ("64",
    "long long") "typedef int64_t intmax_t, intptr_t;\n"
                 "typedef uint64_t uintmax_t, uintptr_t;\n" LIMITS (
                     "8", "SCHAR") LIMITS ("16", "SHRT") LIMITS ("32",
                     "INT") LIMITS ("64", "LLONG") UNSIGNED_LIMITS ("8",
                     "UCHAR") UNSIGNED_LIMITS ("16",
                     "USHRT") UNSIGNED_LIMITS ("32", "UINT")
                     UNSIGNED_LIMITS ("64", "ULLONG") KINDS ("8") KINDS (
                         "16") KINDS ("32") KINDS ("64") LIMITS ("PTR",
                         "INT64") UNSIGNED_LIMITS ("PTR",
                         "UINT64") LIMITS ("MAX",
                         "INT64") UNSIGNED_LIMITS ("MAX",
                         "UINT64") "#define PTRDIFF_MIN INT64_MIN\n"
                                   "#define PTRDIFF_MAX INT64_MAX\n"
                                   "#define SIZE_MAX UINT64_MAX\n" CONSTANTS (
                                       "8", "") CONSTANTS ("16",
                                       "") CONSTANTS ("32", "") CONSTANTS ("64",
                                       "##LL") CONSTANTS ("MAX",
                                       "##LL") "namespace std {\n"
                                               "using ::int8_t; using "
                                               "::int16_t; using ::int32_t; "
                                               "using ::int64_t;\n"
                                               "using ::uint8_t; using "
                                               "::uint16_t; using ::uint32_t;\n"
                                               "using ::uint64_t; using "
                                               "::intptr_t; using "
                                               "::uintptr_t;\n"
                                               "using ::intmax_t; using "
                                               "::uintmax_t;\n"
                                               "}\n";

#define FORMATS(n, length) \
  "#define PRId" n " \"" length "d\"\n#define PRIi" n " \"" length "i\"\n" \
  "#define PRIu" n " \"" length "u\"\n#define PRIo" n " \"" length "o\"\n" \
  "#define PRIx" n " \"" length "x\"\n#define PRIX" n " \"" length "X\"\n"

static const char formats[] =
    "#pragma once\n"
    "#include <stdint.h>\n" FORMATS ("8", "hh") FORMATS ("16", "h")
        FORMATS ("32", "") FORMATS ("64", "ll") FORMATS ("MAX", "ll")
            FORMATS ("PTR", "ll");

/* The names of CUDA's header of constants, which no toolkit is needed for. */
static const char constants[] =
    "#pragma once\n"
    "#define CUDART_INF_F __int_as_float (0x7f800000)\n"
    "#define CUDART_NAN_F __int_as_float (0x7fffffff)\n"
    "#define CUDART_MIN_DENORM_F __int_as_float (0x00000001)\n"
    "#define CUDART_MAX_NORMAL_F __int_as_float (0x7f7fffff)\n"
    "#define CUDART_NEG_ZERO_F __int_as_float ((int) 0x80000000)\n"
    "#define CUDART_ZERO_F 0.0F\n"
    "#define CUDART_ONE_F 1.0F\n"
    "#define CUDART_SQRT_HALF_F 0.707106781F\n"
    "#define CUDART_SQRT_TWO_F 1.414213562F\n"
    "#define CUDART_THIRD_F 0.333333333F\n"
    "#define CUDART_PIO4_F 0.785398163F\n"
    "#define CUDART_PIO2_F 1.570796327F\n"
    "#define CUDART_3PIO4_F 2.356194490F\n"
    "#define CUDART_2_OVER_PI_F 0.636619772F\n"
    "#define CUDART_PI_F 3.141592654F\n"
    "#define CUDART_L2E_F 1.442695041F\n"
    "#define CUDART_L2T_F 3.321928094F\n"
    "#define CUDART_LG2_F 0.301029996F\n"
    "#define CUDART_LGE_F 0.434294482F\n"
    "#define CUDART_LN2_F 0.693147181F\n"
    "#define CUDART_LNT_F 2.302585093F\n"
    "#define CUDART_LNPI_F 1.144729886F\n"
    "#define CUDART_INF __longlong_as_double (0x7ff0000000000000ll)\n"
    "#define CUDART_NAN __longlong_as_double (0x7fffffffffffffffll)\n"
    "#define CUDART_NEG_ZERO __longlong_as_double (1ll << 63)\n"
    "#define CUDART_MIN_DENORM __longlong_as_double (1ll)\n"
    "#define CUDART_ZERO 0.0\n"
    "#define CUDART_ONE 1.0\n"
    "#define CUDART_SQRT_TWO 1.4142135623730951e+0\n"
    "#define CUDART_SQRT_HALF 7.0710678118654757e-1\n"
    "#define CUDART_THIRD 3.3333333333333333e-1\n"
    "#define CUDART_TWOTHIRD 6.6666666666666667e-1\n"
    "#define CUDART_PIO4 7.8539816339744828e-1\n"
    "#define CUDART_PIO2 1.5707963267948966e+0\n"
    "#define CUDART_3PIO4 2.3561944901923448e+0\n"
    "#define CUDART_2_OVER_PI 6.3661977236758138e-1\n"
    "#define CUDART_PI 3.1415926535897931e+0\n"
    "#define CUDART_SQRT_2OVERPI 7.9788456080286536e-1\n"
    "#define CUDART_L2E 1.4426950408889634e+0\n"
    "#define CUDART_L2T 3.3219280948873622e+0\n"
    "#define CUDART_LG2 3.0102999566398120e-1\n"
    "#define CUDART_LGE 4.3429448190325182e-1\n"
    "#define CUDART_LN2 6.9314718055994529e-1\n"
    "#define CUDART_LNT 2.3025850929940459e+0\n"
    "#define CUDART_LNPI 1.1447298858494002e+0\n";

/* The part of the driver's header that a kernel can use, and what functions of
 * the host often declare. */
static const char driver[] =
    "#pragma once\n"
    "#ifndef CUDA_VERSION\n"
    "#define CUDA_VERSION " VERSION "\n"
    "#endif\n"
    "typedef unsigned long long CUdeviceptr, CUtexObject, CUsurfObject;\n"
    "typedef int CUdevice;\n"
    "typedef enum { CUDA_SUCCESS = 0 } CUresult;\n"
    "typedef struct CUctx_st *CUcontext;\n"
    "typedef struct CUmod_st *CUmodule;\n"
    "typedef struct CUfunc_st *CUfunction;\n"
    "typedef struct CUstream_st *CUstream;\n"
    "typedef struct CUevent_st *CUevent;\n"
    "typedef struct CUarray_st *CUarray;\n";

/* libcu++ has these in a header that has changed its name. */
static const char algorithm[] =
    "#pragma once\n"
    "extern \"C++\" {\n"
    "#if __has_include(<cuda/std/algorithm>)\n"
    "#include <cuda/std/algorithm>\n"
    "namespace std { using namespace cuda::std; }\n"
    "#elif __has_include(<cuda/std/__algorithm_>)\n"
    "#include <cuda/std/__algorithm_>\n"
    "namespace std { using namespace cuda::std; }\n"
    "#else\n"
    "namespace std {\n"
    "template <typename T> __device__ constexpr const T &\n"
    "min (const T &a, const T &b) { return b < a ? b : a; }\n"
    "template <typename T> __device__ constexpr const T &\n"
    "max (const T &a, const T &b) { return a < b ? b : a; }\n"
    "template <typename T> __device__ constexpr const T &\n"
    "clamp (const T &v, const T &low, const T &high)\n"
    "{ return v < low ? low : high < v ? high : v; }\n"
    "}\n"
    "#endif\n"
    "}\n";

static const char all_of_cxx[] = "#pragma once\n"
                                 "#include <algorithm>\n"
                                 "#include <limits>\n"
                                 "#include <type_traits>\n"
                                 "#include <utility>\n";

/* Headers of C++ of which libcu++ has a version for the device. PyCUDA puts a
 * source into extern "C". */
#define LIBCUXX(name) \
  { \
    name, "#pragma once\n" \
          "#if __has_include(<cuda/std/" name ">)\n" \
          "extern \"C++\" {\n" \
          "#include <cuda/std/" name ">\n" \
          "namespace std { using namespace cuda::std; }\n" \
          "}\n" \
          "#endif\n" \
  }
#define EMPTY(name) \
  { \
    name, "#pragma once\n" \
  }

static const vkgdr_nvcc_header headers[] = {
  { VKGDR_NVCC_HEADER, always },
  { "float.h", floats },
  { "cfloat", floats },
  { "stdint.h", integers },
  { "cstdint", integers },
  { "inttypes.h", formats },
  { "cinttypes", formats },
  { "math_constants.h", constants },
  { "cuda.h", driver },
  /* The C library: NVRTC and the first header have what a kernel can use. */
  EMPTY ("alloca.h"),
  EMPTY ("arpa/inet.h"),
  EMPTY ("assert.h"),
  EMPTY ("byteswap.h"),
  EMPTY ("cassert"),
  EMPTY ("cctype"),
  EMPTY ("cerrno"),
  EMPTY ("cfenv"),
  EMPTY ("ciso646"),
  EMPTY ("climits"),
  EMPTY ("clocale"),
  EMPTY ("cmath"),
  EMPTY ("complex.h"),
  EMPTY ("csetjmp"),
  EMPTY ("csignal"),
  EMPTY ("cstdalign"),
  EMPTY ("cstdarg"),
  EMPTY ("cstdbool"),
  EMPTY ("cstddef"),
  EMPTY ("cstdio"),
  EMPTY ("cstdlib"),
  EMPTY ("cstring"),
  EMPTY ("ctgmath"),
  EMPTY ("ctime"),
  EMPTY ("ctype.h"),
  EMPTY ("cuchar"),
  EMPTY ("cwchar"),
  EMPTY ("cwctype"),
  EMPTY ("dirent.h"),
  EMPTY ("dlfcn.h"),
  EMPTY ("emmintrin.h"),
  EMPTY ("endian.h"),
  EMPTY ("errno.h"),
  EMPTY ("execinfo.h"),
  EMPTY ("fcntl.h"),
  EMPTY ("fenv.h"),
  EMPTY ("getopt.h"),
  EMPTY ("immintrin.h"),
  EMPTY ("iso646.h"),
  EMPTY ("libgen.h"),
  EMPTY ("limits.h"),
  EMPTY ("locale.h"),
  EMPTY ("malloc.h"),
  EMPTY ("math.h"),
  EMPTY ("memory.h"),
  EMPTY ("netdb.h"),
  EMPTY ("netinet/in.h"),
  EMPTY ("omp.h"),
  EMPTY ("poll.h"),
  EMPTY ("pthread.h"),
  EMPTY ("sched.h"),
  EMPTY ("semaphore.h"),
  EMPTY ("setjmp.h"),
  EMPTY ("signal.h"),
  EMPTY ("stdalign.h"),
  EMPTY ("stdarg.h"),
  EMPTY ("stdbool.h"),
  EMPTY ("stddef.h"),
  EMPTY ("stdio.h"),
  EMPTY ("stdlib.h"),
  EMPTY ("stdnoreturn.h"),
  EMPTY ("string.h"),
  EMPTY ("strings.h"),
  EMPTY ("sys/file.h"),
  EMPTY ("sys/ioctl.h"),
  EMPTY ("sys/ipc.h"),
  EMPTY ("sys/mman.h"),
  EMPTY ("sys/param.h"),
  EMPTY ("sys/resource.h"),
  EMPTY ("sys/select.h"),
  EMPTY ("sys/shm.h"),
  EMPTY ("sys/socket.h"),
  EMPTY ("sys/stat.h"),
  EMPTY ("sys/sysinfo.h"),
  EMPTY ("sys/time.h"),
  EMPTY ("sys/times.h"),
  EMPTY ("sys/types.h"),
  EMPTY ("sys/uio.h"),
  EMPTY ("sys/utsname.h"),
  EMPTY ("sys/wait.h"),
  EMPTY ("syslog.h"),
  EMPTY ("termios.h"),
  EMPTY ("tgmath.h"),
  EMPTY ("threads.h"),
  EMPTY ("time.h"),
  EMPTY ("uchar.h"),
  EMPTY ("unistd.h"),
  EMPTY ("values.h"),
  EMPTY ("wchar.h"),
  EMPTY ("wctype.h"),
  EMPTY ("x86intrin.h"),
  EMPTY ("xmmintrin.h"),
  /* C++ of the host. */
  EMPTY ("any"),
  EMPTY ("barrier"),
  EMPTY ("bitset"),
  EMPTY ("charconv"),
  EMPTY ("chrono"),
  EMPTY ("codecvt"),
  EMPTY ("compare"),
  EMPTY ("condition_variable"),
  EMPTY ("coroutine"),
  EMPTY ("deque"),
  EMPTY ("exception"),
  EMPTY ("execution"),
  EMPTY ("expected"),
  EMPTY ("filesystem"),
  EMPTY ("format"),
  EMPTY ("forward_list"),
  EMPTY ("fstream"),
  EMPTY ("future"),
  EMPTY ("generator"),
  EMPTY ("iomanip"),
  EMPTY ("ios"),
  EMPTY ("iosfwd"),
  EMPTY ("iostream"),
  EMPTY ("istream"),
  EMPTY ("latch"),
  EMPTY ("list"),
  EMPTY ("locale"),
  EMPTY ("map"),
  EMPTY ("memory"),
  EMPTY ("memory_resource"),
  EMPTY ("mutex"),
  EMPTY ("new"),
  EMPTY ("ostream"),
  EMPTY ("print"),
  EMPTY ("queue"),
  EMPTY ("random"),
  EMPTY ("ranges"),
  EMPTY ("regex"),
  EMPTY ("scoped_allocator"),
  EMPTY ("semaphore"),
  EMPTY ("set"),
  EMPTY ("shared_mutex"),
  EMPTY ("source_location"),
  EMPTY ("sstream"),
  EMPTY ("stack"),
  EMPTY ("stacktrace"),
  EMPTY ("stdexcept"),
  EMPTY ("stop_token"),
  EMPTY ("streambuf"),
  EMPTY ("string"),
  EMPTY ("string_view"),
  EMPTY ("syncstream"),
  EMPTY ("system_error"),
  EMPTY ("thread"),
  EMPTY ("typeindex"),
  EMPTY ("typeinfo"),
  EMPTY ("unordered_map"),
  EMPTY ("unordered_set"),
  EMPTY ("valarray"),
  EMPTY ("vector"),
  EMPTY ("version"),
  { "algorithm", algorithm },
  { "bits/stdc++.h", all_of_cxx },
  LIBCUXX ("array"),
  LIBCUXX ("atomic"),
  LIBCUXX ("bit"),
  LIBCUXX ("complex"),
  LIBCUXX ("concepts"),
  LIBCUXX ("functional"),
  LIBCUXX ("initializer_list"),
  LIBCUXX ("iterator"),
  LIBCUXX ("limits"),
  LIBCUXX ("numbers"),
  LIBCUXX ("numeric"),
  LIBCUXX ("optional"),
  LIBCUXX ("ratio"),
  LIBCUXX ("span"),
  LIBCUXX ("tuple"),
  LIBCUXX ("type_traits"),
  LIBCUXX ("utility"),
  LIBCUXX ("variant"),
  /* Parts of CUDA that NVRTC has without a header. */
  EMPTY ("builtin_types.h"),
  EMPTY ("channel_descriptor.h"),
  EMPTY ("common_functions.h"),
  EMPTY ("cuda_runtime.h"),
  EMPTY ("cuda_runtime_api.h"),
  EMPTY ("device_atomic_functions.h"),
  EMPTY ("device_double_functions.h"),
  EMPTY ("device_functions.h"),
  EMPTY ("device_launch_parameters.h"),
  EMPTY ("device_types.h"),
  EMPTY ("driver_functions.h"),
  EMPTY ("driver_types.h"),
  EMPTY ("host_config.h"),
  EMPTY ("host_defines.h"),
  EMPTY ("math_functions.h"),
  EMPTY ("sm_20_atomic_functions.h"),
  EMPTY ("sm_20_intrinsics.h"),
  EMPTY ("sm_30_intrinsics.h"),
  EMPTY ("sm_32_atomic_functions.h"),
  EMPTY ("sm_32_intrinsics.h"),
  EMPTY ("sm_35_atomic_functions.h"),
  EMPTY ("sm_35_intrinsics.h"),
  EMPTY ("sm_60_atomic_functions.h"),
  EMPTY ("sm_61_intrinsics.h"),
  EMPTY ("surface_functions.h"),
  EMPTY ("surface_indirect_functions.h"),
  EMPTY ("surface_types.h"),
  EMPTY ("texture_fetch_functions.h"),
  EMPTY ("texture_indirect_functions.h"),
  EMPTY ("texture_types.h"),
  EMPTY ("vector_functions.h"),
  EMPTY ("vector_functions.hpp"),
  EMPTY ("vector_types.h"),
  { NULL, NULL },
};

const vkgdr_nvcc_header *
vkgdr_nvcc_get_headers (void)
{
  return headers;
}
