/* What this machine can do for a scan of 64-bit fingerprints, measured by loops that do nothing else.
 *
 *   read       bytes per second of a sum over an array that no cache holds: the limit of one query at a time
 *   one        comparisons per second of one query over that array
 *   batch      comparisons per second of 64 queries over blocks that the first-level cache holds: xor, population count,
 *              comparison with the radius, count of what is within
 *   distances  the same without the comparison with the radius: xor and population count, summed
 *
 * gcc -O3 -march=native -o popcount_limit popcount_limit.c && ./popcount_limit 10000000 3
 *
 * CPU seconds of the process, the best of several rounds. Prints one JSON object.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>
#endif

#define BLOCK 2048 /* fingerprints: 16 KiB */
#define QUERIES 64

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t sum_of(const uint64_t *x, size_t n) {
#if defined(__AVX512F__) && defined(__AVX512VPOPCNTDQ__)
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (size_t i = 0; i + 32 <= n; i += 32) {
        a = _mm512_add_epi64(a, _mm512_loadu_si512(x + i));
        b = _mm512_add_epi64(b, _mm512_loadu_si512(x + i + 8));
        c = _mm512_add_epi64(c, _mm512_loadu_si512(x + i + 16));
        d = _mm512_add_epi64(d, _mm512_loadu_si512(x + i + 24));
    }
    return _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d)));
#else
    uint64_t a = 0;
    for (size_t i = 0; i < n; i++) a += x[i];
    return a;
#endif
}

/* How many of n fingerprints lie within the radius of q. */
static uint64_t within(const uint64_t *x, size_t n, uint64_t q, uint64_t radius) {
#if defined(__AVX512VPOPCNTDQ__)
    __m512i query = _mm512_set1_epi64((long long)q), most = _mm512_set1_epi64((long long)radius);
    __m512i step = _mm512_set1_epi64(1), a = _mm512_setzero_si512(), b = a;
    for (size_t i = 0; i + 16 <= n; i += 16) {
        __m512i c = _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(x + i), query));
        __m512i d = _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(x + i + 8), query));
        a = _mm512_mask_add_epi64(a, _mm512_cmple_epu64_mask(c, most), a, step);
        b = _mm512_mask_add_epi64(b, _mm512_cmple_epu64_mask(d, most), b, step);
    }
    return _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
#else
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++) found += (uint64_t)__builtin_popcountll(x[i] ^ q) <= radius;
    return found;
#endif
}

/* The sum of distances: xor and population count without a comparison. */
static uint64_t distances(const uint64_t *x, size_t n, uint64_t q) {
#if defined(__AVX512VPOPCNTDQ__)
    __m512i query = _mm512_set1_epi64((long long)q), a = _mm512_setzero_si512(), b = a;
    for (size_t i = 0; i + 16 <= n; i += 16) {
        a = _mm512_add_epi64(a, _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(x + i), query)));
        b = _mm512_add_epi64(b, _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(x + i + 8), query)));
    }
    return _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
#else
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) all += __builtin_popcountll(x[i] ^ q);
    return all;
#endif
}

int main(int count, char **arguments) {
    size_t n = count > 1 ? strtoull(arguments[1], NULL, 10) : 10000000;
    uint64_t radius = count > 2 ? strtoull(arguments[2], NULL, 10) : 3;
    uint64_t state = 1, q[QUERIES], check = 0;
    n -= n % BLOCK;
    uint64_t *x = aligned_alloc(64, 8 * n);
    if (!x || !n) return 1;
    for (size_t i = 0; i < n; i++) x[i] = next(&state);
    for (int i = 0; i < QUERIES; i++) q[i] = next(&state);
    double read = 0, one = 0, batch = 0, xored = 0;
    for (int round = 0; round < 7; round++) {
        double start = now();
        check += sum_of(x, n);
        double speed = 8 * n / (now() - start);
        read = speed > read ? speed : read;

        start = now();
        check += within(x, n, q[round], radius);
        speed = n / (now() - start);
        one = speed > one ? speed : one;

        start = now();
        for (size_t block = 0; block < n; block += BLOCK)
            for (int i = 0; i < QUERIES; i++) check += within(x + block, BLOCK, q[i], radius);
        speed = (double)n * QUERIES / (now() - start);
        batch = speed > batch ? speed : batch;

        start = now();
        for (size_t block = 0; block < n; block += BLOCK)
            for (int i = 0; i < QUERIES; i++) check += distances(x + block, BLOCK, q[i]);
        speed = (double)n * QUERIES / (now() - start);
        xored = speed > xored ? speed : xored;
    }
    printf("{\"n\": %zu, \"radius\": %llu, \"read_bytes\": %.4g, \"one\": %.4g, \"batch\": %.4g, \"distances\": %.4g, "
           "\"check\": \"%llx\"}\n",
           n, (unsigned long long)radius, read, one, batch, xored, (unsigned long long)check);
    return 0;
}
