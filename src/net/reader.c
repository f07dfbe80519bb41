/* See reader.h. */
#include "net/reader.h"

#include <pthread.h>

/* An array is made as long as it is announced, and walked when it is freed, before any of it comes. */
enum { ELEMENTS_MOST = 1024 * 1024, UNREAD_MOST = 64 * 1024 * 1024 };

#if HIREDIS_MAJOR >= 1

redisReader *lki_reader_new(void) {
    redisReader *reader = redisReaderCreate();
    if (reader)
        reader->maxelements = ELEMENTS_MOST;
    return reader;
}

#else

static redisReplyObjectFunctions functions; /* hiredis' own, but for one */
static void *(*create_array)(const redisReadTask *, int);

static void *create_short_array(const redisReadTask *task, int elements) {
    return elements <= ELEMENTS_MOST ? create_array(task, elements) : NULL;
}

static void copy_functions(void) {
    redisReader *reader = redisReaderCreate();
    if (!reader)
        return;
    functions = *reader->fn;
    create_array = functions.createArray;
    functions.createArray = create_short_array;
    redisReaderFree(reader);
}

redisReader *lki_reader_new(void) {
    static pthread_once_t copied = PTHREAD_ONCE_INIT;
    pthread_once(&copied, copy_functions);
    redisReader *reader = redisReaderCreate();
    if (reader && create_array) /* without memory at that moment it does without the limit */
        reader->fn = &functions;
    return reader;
}

#endif

bool lki_reader_is_overfull(const redisReader *reader) {
    return reader->len - reader->pos > UNREAD_MOST;
}
