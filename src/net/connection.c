/* See connection.h. */
#include "net/connection.h"

#include "base/memory.h"

/* ------------------------------------------------------------------------------ the parser */

/* hiredis allocates an array in its announced length before any element has arrived. */
enum { ELEMENTS_MOST = 1024 * 1024, UNREAD_MOST = 64 * 1024 * 1024 };

#if HIREDIS_MAJOR >= 1

redisReader *lki_reader_new(void) {
    redisReader *reader = redisReaderCreate();
    if (reader)
        reader->maxelements = ELEMENTS_MOST;
    return reader;
}

#else

static redisReplyObjectFunctions functions; /* those of hiredis, except createArray */
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
    if (reader && create_array) /* NULL: copy_functions() was out of memory; do without a limit */
        reader->fn = &functions;
    return reader;
}

#endif

bool lki_reader_is_overfull(const redisReader *reader) {
    return reader->len - reader->pos > UNREAD_MOST;
}

/* ------------------------------------------------------------------------------ the connection */

enum { READ_SIZE = 16 * 1024 };

lki_connection *lki_connection_new(lki_transport *transport) {
    lki_connection *connection = lki_new(sizeof *connection);
    if (!connection)
        return NULL;
    connection->reader = lki_reader_new();
    if (!connection->reader) {
        lki_free(connection);
        return NULL;
    }
    connection->transport = transport;
    connection->users = 1;
    return connection;
}

void lki_connection_release(lki_connection *connection) {
    if (--connection->users > 0)
        return;
    lki_transport_close(connection->transport);
    redisReaderFree(connection->reader);
    lki_bytes_free(&connection->out);
    lki_bytes_free(&connection->piece);
    lki_free(connection);
}

bool lki_connection_parse(lki_connection *connection, redisReply *replies[], size_t *count,
                          lki_error *error) {
    *count = 0;
    while (*count < LKI_REPLIES_MOST) {
        void *reply = NULL;
        if (redisReaderGetReply(connection->reader, &reply) != REDIS_OK) {
            lki_error_set(error, LK_INTERNAL, "the server sent a reply that is not RESP: %s",
                          connection->reader->errstr);
            return false;
        }
        if (!reply)
            break;
        replies[(*count)++] = reply;
    }
    return true;
}

lki_read_result lki_connection_read(lki_connection *connection, bool patiently,
                                    redisReply *replies[], size_t *count, lki_error *error) {
    /* A whole TLS record fits: poll(2) does not see bytes that stay inside OpenSSL. */
    char buffer[READ_SIZE];
    *count = 0;
    ssize_t length = (patiently ? lki_transport_read_patiently : lki_transport_read)(
        connection->transport, buffer, sizeof buffer, error);
    bool some = length > 0;
    if (some && redisReaderFeed(connection->reader, buffer, (size_t)length) != REDIS_OK) {
        lki_error_no_memory(error);
        return LKI_READ_BROKEN;
    }
    lki_error unreadable;
    if (some && !lki_connection_parse(connection, replies, count, &unreadable)) {
        *error = unreadable;
        return LKI_READ_BROKEN;
    }
    if (lki_reader_is_overfull(connection->reader)) {
        lki_error_set(error, LK_INTERNAL, "the server sent a reply that is too long");
        return LKI_READ_BROKEN;
    }
    if (length == LKI_BROKEN)
        return LKI_READ_BROKEN;
    return some ? LKI_READ_SOME : LKI_READ_NOTHING;
}
