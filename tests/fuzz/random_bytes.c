/*
 * Drives a fuzzer without libFuzzer: `<fuzzer> RUNS` gives it that many inputs of random bytes,
 * always the same ones; `<fuzzer> FILE…` the files, as libFuzzer does to show a fault again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MOST = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* xorshift64: small, and the same everywhere. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Lengths of every magnitude; half of the inputs have small bytes, which mean more operations. */
static size_t fill(uint64_t *state, uint8_t *bytes) {
    size_t length = (size_t)(next_random(state) % INPUT_MOST) >> (next_random(state) % 10);
    uint8_t mask = next_random(state) % 2 ? 0xff : 0x0f;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(next_random(state) >> 32) & mask;
    return length;
}

static void run_random(unsigned long runs) {
    static uint8_t bytes[INPUT_MOST];
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned long i = 0; i < runs; i++) {
        size_t length = fill(&state, bytes);
        LLVMFuzzerTestOneInput(bytes, length);
    }
    printf("%lu inputs of random bytes\n", runs);
}

static int run_file(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return EXIT_FAILURE;
    }
    uint8_t *bytes = NULL;
    size_t length = 0, room = 0, got;
    do {
        room += INPUT_MOST;
        uint8_t *more = realloc(bytes, room);
        if (!more)
            abort();
        bytes = more;
        got = fread(bytes + length, 1, room - length, file);
        length += got;
    } while (got > 0);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, length);
    free(bytes);
    return EXIT_SUCCESS;
}

int main(int count, char **words) {
    int status = EXIT_SUCCESS;
    if (count < 2) {
        fprintf(stderr, "%s RUNS, or %s FILE…\n", words[0], words[0]);
        return 2;
    }
    if (count == 2 && strspn(words[1], "0123456789") == strlen(words[1])) {
        run_random(strtoul(words[1], NULL, 10));
        return status;
    }
    for (int i = 1; i < count; i++)
        if (run_file(words[i]) != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    return status;
}
