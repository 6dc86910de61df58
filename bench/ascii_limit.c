/* The least that SimHash-64 of character 4-grams of ASCII text can cost here: a bare loop, the limit that text to
 * fingerprint is measured against (bench/text.py).
 *
 *   1. 64 bytes at a time: lower case, keep letters, digits and underscore, close the gaps (VPCOMPRESSB).
 *   2. 8 windows of 4 bytes at a time, each one multiply and one xor-shift.
 *   3. Count each of 64 bits, bit-sliced: 16 vectors of 8 hashes through carry-save adders (Harley-Seal).
 *   4. A bit is 1 where more than half of the hashes have it.
 *
 * It is no fingerprint that anyone should store: one multiply mixes too little, and only ASCII has letters.
 * Needs AVX-512 BW, DQ, VBMI and VBMI2. Documents are cut at 64 KiB, the size of the buffer. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 1 << 16, PLANES = 20 };

static inline size_t letters(const uint8_t *text, size_t n, uint8_t *out) {
  uint8_t *start = out;
  const __m512i a = _mm512_set1_epi8('a'), zero = _mm512_set1_epi8('0'), under = _mm512_set1_epi8('_');
  for (size_t i = 0; i < n; i += 64) {
    __mmask64 inside = n - i >= 64 ? ~0ULL : (1ULL << (n - i)) - 1;
    __m512i c = _mm512_maskz_loadu_epi8(inside, text + i);
    __m512i lower = _mm512_or_si512(c, _mm512_set1_epi8(0x20));
    __mmask64 letter = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(lower, a), _mm512_set1_epi8(26));
    __mmask64 digit = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(c, zero), _mm512_set1_epi8(10));
    __mmask64 keep = letter | digit | _mm512_cmpeq_epi8_mask(c, under);
    c = _mm512_mask_mov_epi8(c, letter, lower);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(keep, c));
    out += _mm_popcnt_u64(keep);
  }
  return (size_t)(out - start);
}

static inline __m512i add3(__m512i *sum, __m512i x, __m512i y) {
  __m512i carry = _mm512_ternarylogic_epi64(*sum, x, y, 0xe8);
  *sum = _mm512_ternarylogic_epi64(*sum, x, y, 0x96);
  return carry;
}

static inline __m512i windows(const uint8_t *text, __m512i spread, __m512i odd) {
  __m512i w = _mm512_maskz_permutexvar_epi8(0x0f0f0f0f0f0f0f0f, spread,
                                            _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)text)));
  w = _mm512_mullo_epi64(w, odd);
  return _mm512_xor_si512(w, _mm512_srli_epi64(w, 32));
}

static uint64_t simhash(const uint8_t *text, size_t n, __m512i spread, __m512i odd) {
  uint8_t buffer[LONGEST + 256];
  __m512i planes[PLANES];
  int used = 4;
  if (n > LONGEST) n = LONGEST;
  size_t length = letters(text, n, buffer);
  size_t count = length < 4 ? 0 : length - 3;
  for (int i = 0; i < 4; i++) planes[i] = _mm512_setzero_si512();
  __m512i ones = planes[0], twos = planes[1], fours = planes[2], eights = planes[3];
  for (size_t at = 0; at < count; at += 128) {
    __m512i v[16];
    for (int i = 0; i < 16; i++) {
      v[i] = windows(buffer + at + 8 * i, spread, odd);
      if (at + 8 * i + 8 > count) {
        size_t left = at + 8 * i < count ? count - at - 8 * i : 0;
        v[i] = _mm512_maskz_mov_epi64((__mmask8)((1u << left) - 1), v[i]);
      }
    }
    __m512i four[2], eight[2];
    for (int h = 0; h < 2; h++) {
      for (int q = 0; q < 2; q++) {
        __m512i *x = v + 8 * h + 4 * q;
        __m512i c = add3(&ones, x[0], x[1]), d = add3(&ones, x[2], x[3]);
        four[q] = add3(&twos, c, d);
      }
      eight[h] = add3(&fours, four[0], four[1]);
    }
    __m512i carry = add3(&eights, eight[0], eight[1]);
    int k = 4;
    while (_mm512_test_epi64_mask(carry, carry)) {
      if (k == used) planes[used++] = _mm512_setzero_si512();
      __m512i next = _mm512_and_si512(planes[k], carry);
      planes[k] = _mm512_xor_si512(planes[k], carry);
      carry = next;
      k++;
    }
  }
  planes[0] = ones, planes[1] = twos, planes[2] = fours, planes[3] = eights;
  /* Eight lanes become one: halves are added, bit-sliced. */
  uint64_t sums[PLANES + 3][8];
  memcpy(sums, planes, (size_t)used * sizeof *planes);
  for (int half = 4; half; half /= 2) {
    uint64_t carry[4] = {0};
    for (int k = 0; k < used; k++)
      for (int lane = 0; lane < half; lane++) {
        uint64_t x = sums[k][lane], y = sums[k][lane + half], c = carry[lane];
        sums[k][lane] = x ^ y ^ c;
        carry[lane] = (x & y) | (c & (x | y));
      }
    for (int lane = 0; lane < half; lane++) sums[used][lane] = carry[lane];
    used++;
  }
  uint64_t least = count / 2 + 1, majority = ~0ULL;
  if (least >> used) return 0;
  for (int k = 0; k < used; k++) majority = least >> k & 1 ? sums[k][0] & majority : sums[k][0] | majority;
  return majority;
}

/* SimHash of n documents; document i is text[offsets[i]..offsets[i + 1]]. */
void ascii_limit(const uint8_t *text, const int64_t *offsets, int64_t n, uint64_t *out) {
  uint8_t spread[64] = {0};
  for (int lane = 0; lane < 8; lane++)
    for (int byte = 0; byte < 4; byte++) spread[8 * lane + byte] = (uint8_t)(lane + byte);
  __m512i order = _mm512_loadu_si512(spread), odd = _mm512_set1_epi64((long long)0x9e3779b97f4a7c15);
  for (int64_t i = 0; i < n; i++)
    out[i] = simhash(text + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), order, odd);
}
