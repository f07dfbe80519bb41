/*
 * latchkey: reader-writer locks by name, for programs on many machines, on one Redis or Valkey
 * server.
 *
 * Limits first.
 *
 * - Threads that share a handle (lk_lock) are one holder and do not exclude each other. To keep
 *   threads apart, give each its own handle of the same name.
 * - A hold is a lease. It is renewed for you while the server can be reached; when it cannot, the
 *   hold runs out, on your clock before it does on the server's, and the handle is lost: lk_valid()
 *   says false, on_lost is called. Work that must not happen without the lock checks lk_valid(), or
 *   hands lk_fence() to whoever stores the result.
 * - The lock is as durable as the server. One that loses its data loses the locks in it.
 *   docs/GUARANTEES.md has the whole list.
 * - Nothing here may be called from a signal handler. pthread_cancel() acts when a call has
 *   returned; it is lk_cancel() that ends a wait. A child of fork() opens a client of its own:
 *   every call on its parent's says LK_INVALID there, and lk_close() only closes its copies of the
 *   descriptors.
 *
 * Every function may be called from any thread, at any time, unless it says otherwise. Functions
 * that fail return a status and leave a sentence in lk_last_error(); their outputs are untouched
 * then. In every struct of options a field of zero means its default: start from `= {0}`.
 *
 *     lk_client *client;
 *     lk_lock *lock;
 *     if (lk_open(NULL, NULL, &client) || lk_lock_new(client, "order:42", NULL, &lock))
 *         errx(1, "%s", lk_last_error());
 *     if (lk_wrlock(lock) == LK_OK) {
 *         ...
 *         lk_wrunlock(lock);
 *     }
 *     lk_lock_free(lock);
 *     lk_close(client);
 */
#ifndef LATCHKEY_H
#define LATCHKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LK_API __attribute__((visibility("default")))
#else
#define LK_API
#endif

/* ------------------------------------------------------------------------------------------------
 * status */

/* Every status: its code, and what it means in a few words. lk_last_error() says more. */
#define LK_STATUSES(X)                                                               \
    X(LK_OK, "done")                                                                 \
    X(LK_BUSY, "others hold the lock or wait for it")                                \
    X(LK_TIMEOUT, "the wait was over before the lock was free")                      \
    X(LK_CANCELED, "canceled by another call")                                       \
    X(LK_NOT_HELD, "this handle does not hold the lock so")                          \
    X(LK_LOST, "the hold was lost before it was given back")                         \
    X(LK_DEADLOCK, "another holder waits to upgrade already; give up the read hold") \
    X(LK_UNAVAILABLE, "the server cannot be reached, or cannot serve locks now")     \
    X(LK_DENIED, "the server does not permit it")                                    \
    X(LK_UNSUPPORTED, "this server or this build cannot do it")                      \
    X(LK_INVALID, "an argument, or the call at this point, is not valid")            \
    X(LK_NOMEM, "out of memory, threads or descriptors")                             \
    X(LK_INTERNAL, "a fault in latchkey, or an answer that it cannot read")

#define LK_STATUS_CODE(code, text) code,
typedef enum { LK_STATUSES(LK_STATUS_CODE) } lk_status;
#undef LK_STATUS_CODE

/* "LK_BUSY"; never NULL, also for a number that is no status. Needs no freeing. */
LK_API const char *lk_status_name(lk_status);

/* The few words above; never NULL. Needs no freeing. */
LK_API const char *lk_status_text(lk_status);

/*
 * A sentence about the last call of this thread that failed: what, which lock, which server, what
 * to do about it. In a callback, about the operation that it reports. Never NULL, "" before the
 * first failure; never has a password in it. Good until the next call of this thread.
 */
LK_API const char *lk_last_error(void);

/* The version of this header, to compare in #if: LK_VERSION_NUMBER is 10203 for 1.2.3. */
#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0
#define LK_VERSION_NUMBER (LK_VERSION_MAJOR * 10000 + LK_VERSION_MINOR * 100 + LK_VERSION_PATCH)
#define LK_VERSION_STRING "0.1.0"

/* "0.1.0": the version of the library that runs; a program was compiled with LK_VERSION_STRING.
 * Needs no freeing. */
LK_API const char *lk_version(void);

/* ------------------------------------------------------------------------------------------------
 * client */

/* A connection to where the locks are; many threads and many locks share one. */
typedef struct lk_client lk_client;

/* One handle on one lock: it holds, waits, and loses. */
typedef struct lk_lock lk_lock;

typedef enum { LK_READ, LK_WRITE } lk_mode;

/* Who comes next. A lock has the policy of the request that found it free. */
typedef enum {
    LK_FAIR,       /* strictly in the order of asking */
    LK_PHASE_FAIR, /* all waiting readers, then one writer, and so on: a reader waits for one writer
                      at most */
    LK_PREFER_WRITER, /* readers only while no writer waits */
    LK_PREFER_READER  /* writers only while no reader holds or waits */
} lk_policy;

typedef enum { LK_LOG_DEBUG, LK_LOG_INFO, LK_LOG_WARNING, LK_LOG_ERROR } lk_log_level;

/* A line without a line feed. Called as lk_done_fn is. */
typedef void lk_log_fn(lk_log_level, const char *line, void *arg);

typedef struct {
    const char
        *app; /* who you are, as others see it in lk_inspect, up to 128 bytes; the program's name */
    const char *prefix;         /* of all keys in the server, 1 to 64 bytes, no braces; "lk" */
    int64_t connect_timeout_ms; /* for one attempt to connect, all of it; 5000 */
    int64_t command_timeout_ms; /* how long the server may be silent or away before calls give up;
                                   5000 */
    int min_replicas;           /* not yet: anything but 0 is LK_UNSUPPORTED */
    int64_t replica_timeout_ms; /* not yet */
    /* With redis:// and unix:// these four are LK_INVALID: there is no TLS to be had there. With
     * local:, which needs none, they have no meaning. */
    const char *tls_ca;   /* file or folder of certificates to trust; the system's */
    const char *tls_cert; /* file with the client's certificate and its chain; none */
    const char *tls_key;  /* file with its key; that of tls_cert */
    const char
        *tls_server_name; /* the name that the server's certificate must have; the URL's host */
    lk_log_fn *log;       /* NULL: nothing is logged */
    void *log_arg;
    bool dispatch;     /* callbacks wait for lk_dispatch(); there is no thread for them; false */
    void *reserved[7]; /* zero */
} lk_client_options;

/*
 * Opens a client: reads the URL, connects, and makes sure that the server can serve locks.
 *
 *   local:
 *       a private server for this user on this machine, started on first use; it goes on running.
 *       Its folder is /run/latchkey for root and /tmp/latchkey-<uid> for others, or
 *       LATCHKEY_LOCAL_DIR
 *   redis://[user[:password]@]host[:port][/db]
 *       TCP; port 6379, db 0; [::1] for IPv6
 *   rediss://...
 *       the same with TLS; chain and host name are verified. The shared library loads OpenSSL at
 *       the first of these, and not before
 *   unix:///path/of/socket[?db=n]
 *       also unix://user:password@/path
 *
 * `valkey` works wherever `redis` stands. The user may be empty: `:password@`. Bytes of user,
 * password and path may be written as %41. A password may also come from the environment,
 * LATCHKEY_PASSWORD, or from a password_file, which is where it belongs: a URL on a command line is
 * seen by all.
 *
 * url: NULL leaves the server to the machine: $LATCHKEY_URL, or if that is not set or empty, `url`
 * of the user's configuration file, of the system's, or else local: (see lk_defaults_read).
 * options: NULL means all defaults. Both are copied; environment and files are read here, and not
 * afterwards. *out is yours, end it with lk_close().
 *
 * An option that is left 0 or NULL may come from the environment (LATCHKEY_PREFIX, LATCHKEY_TLS_CA
 * and so on), and if url is NULL, from the configuration files: latchkey.conf(5) has the rules.
 * With a URL no file is read. A TLS option from there does no harm to a URL without TLS.
 *
 * LK_OK · LK_INVALID: the URL or an option cannot be read, and which part; a configuration file, as
 * "file:line: what"; no server is configured, and require_server demands one · LK_UNAVAILABLE:
 * nobody answers there, or the answer is no server for locks (LOADING, a replica); local: in a /tmp
 * that other programs of this user do not see (systemd's PrivateTmp) · LK_DENIED: user,
 * password or certificate were refused · LK_UNSUPPORTED: a topology or option that this version
 * does not have, rediss:// where its TLS module is not installed, a server older than 6.2, a node
 * of a cluster, or a sentinel · LK_NOMEM · LK_INTERNAL: the server refuses in words that latchkey
 * does not know.
 *
 * Blocks for connect_timeout_ms at most, beyond looking up the host's name. Starts one thread, and
 * without `dispatch` one for callbacks when there is the first (or a log).
 */
LK_API lk_status lk_open(const char *url, const lk_client_options *options, lk_client **out);

/* What lk_open() takes from this machine where its caller says nothing, and who said so. */
typedef struct {
    const char *url;         /* without a password; "" if it cannot be read: lk_open() says why */
    const char *url_from;    /* "LATCHKEY_URL" or "/etc/latchkey.conf:3"; "" if nobody chose: then
                                the URL is local: */
    const char *prefix;      /* of all keys in the server */
    const char *prefix_from; /* as above; "" if it is the default */
    void *reserved[8];
} lk_defaults;

/*
 * Reads environment and configuration files as lk_open(NULL, NULL, ...) does, and connects to
 * nobody. The private server of local: serves one user on one machine: a program whose locks are
 * for more than that can make sure that somebody has chosen a server. *out is yours, free it with
 * lk_defaults_free(), which takes NULL.
 *
 * LK_OK · LK_INVALID: what lk_open() says of a configuration file, a password file, or of a server
 * that is required and missing · LK_NOMEM. Blocks on files alone.
 */
LK_API lk_status lk_defaults_read(lk_defaults **out);
LK_API void lk_defaults_free(lk_defaults *);

/*
 * Ends a client: calls that wait return LK_CANCELED, callbacks not yet called are called with it,
 * everything that its handles hold is given back, and its threads end. Its handles stay valid
 * memory, each to be freed with lk_lock_free(); all other calls on them say LK_INVALID. NULL is
 * fine.
 *
 * With `dispatch` this thread runs the callbacks that are left, and waits if another thread runs
 * some. Blocks while callbacks run, while a host's name is looked up, and for command_timeout_ms at
 * most while the server does not answer; what could not be given back then runs out with its lease.
 * Refused (and logged) inside a callback. After fork() in the child it only closes descriptors.
 */
LK_API void lk_close(lk_client *);

/* ------------------------------------------------------------------------------------------------
 * handles */

/*
 * The handle's hold was lost: it ran out unrenewed, the server says it is gone, or somebody forced
 * it. Called once for each loss, as lk_done_fn is.
 */
typedef void lk_lost_fn(lk_lock *, void *arg);

typedef struct {
    int64_t lease_ms;  /* how long a hold lasts without renewal, 100 to 86,400,000; 30000 */
    lk_policy policy;  /* if this request is the one that finds the lock free; LK_FAIR */
    const char *group; /* of its reads: readers of one group share, groups exclude each other; up to
                          64 bytes; "" */
    const char *owner; /* handles of one owner never exclude each other; 1 to 128 bytes; the handle
                          itself */
    bool manual_renew; /* holds are renewed by lk_renew() alone; false */
    lk_lost_fn *on_lost; /* NULL: nobody is told */
    void *on_lost_arg;
    void *reserved[8]; /* zero */
} lk_lock_options;

/*
 * Makes a handle on the lock called `name`: 1 to 512 bytes, by habit <type>:<id>. Nothing is asked
 * of the server. options: NULL means all defaults. Both are copied. *out is yours, free it with
 * lk_lock_free().
 *
 * LK_OK · LK_INVALID: an argument, and which · LK_NOMEM. Never blocks.
 */
LK_API lk_status lk_lock_new(lk_client *, const char *name, const lk_lock_options *options,
                             lk_lock **out);

/*
 * Frees a handle. What it holds is given back, without waiting for the server's answer. Calls that
 * still wait on it return LK_CANCELED, callbacks of its operations that have not been called yet
 * are called before this returns (unless this is called in a callback: then after it), on_lost is
 * not called any more. With `dispatch` this thread runs those callbacks, and no other handle's; it
 * waits if another thread runs callbacks of the client. NULL is fine.
 */
LK_API void lk_lock_free(lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * taking */

/*
 * Takes a read or a write hold. Holds nest: each is given back by an unlock of its own kind. A
 * holder's further reads are granted at once, also inside its writes; a write on top of reads is an
 * upgrade, granted when no other owner holds, before everybody who waits.
 *
 *   lk_rdlock, lk_wrlock             wait as long as it takes
 *   lk_tryrdlock, lk_trywrlock       do not wait
 *   lk_timedrdlock, lk_timedwrlock   wait for wait_ms at most, from the call; 0: do not wait;
 *                                    -1: wait as long as it takes
 *
 * LK_OK: held · LK_BUSY: not free (the try calls, and wait_ms 0) · LK_TIMEOUT: wait_ms are over;
 * this call left nothing behind · LK_CANCELED: lk_cancel(), lk_lock_free() or lk_close() meanwhile
 * · LK_DEADLOCK: an upgrade while another holder's upgrade waits; neither could ever have it; give
 * up the read hold and start again · LK_LOST: the handle has lost a hold; unlock it first, once for
 * each time it was taken · LK_UNAVAILABLE: the server could not be reached for command_timeout_ms,
 * or not before wait_ms or the lease were over; the call holds nothing, and what the server may
 * have granted is taken back in the background · LK_DENIED · LK_UNSUPPORTED · LK_INVALID: wait_ms
 * below -1, or the name is that of something else in the server, or taken 65,535 times already ·
 * LK_NOMEM · LK_INTERNAL.
 *
 * Block: as said, and beyond wait_ms as long as the server needs to answer, command_timeout_ms at
 * most. A shortage shorter than that (a restart, a cut connection) is waited out. Refused
 * (LK_INVALID) inside a callback.
 */
LK_API lk_status lk_rdlock(lk_lock *);
LK_API lk_status lk_tryrdlock(lk_lock *);
LK_API lk_status lk_timedrdlock(lk_lock *, int64_t wait_ms);
LK_API lk_status lk_wrlock(lk_lock *);
LK_API lk_status lk_trywrlock(lk_lock *);
LK_API lk_status lk_timedwrlock(lk_lock *, int64_t wait_ms);

/*
 * Gives back one read or one write hold. If others wait, the lock is theirs when the server has
 * answered.
 *
 * LK_OK · LK_NOT_HELD: nothing of that kind to give back; nothing changed · LK_LOST: it was lost
 * before; this unlock counts, and after the last one the handle can be used again · LK_UNAVAILABLE,
 * LK_DENIED, LK_UNSUPPORTED, or LK_INVALID if the server has something else under that name by now:
 * it did not answer in time, or refused; the hold is gone as far as the caller is concerned, and
 * given back in the background, or runs out · LK_CANCELED: lk_close() meanwhile; the hold is gone,
 * given back or left to run out · otherwise LK_INVALID, LK_NOMEM: nothing changed · LK_INTERNAL.
 *
 * Block for a round trip, command_timeout_ms at most. Refused (LK_INVALID) inside a callback,
 * unless lost.
 */
LK_API lk_status lk_rdunlock(lk_lock *);
LK_API lk_status lk_wrunlock(lk_lock *);

/*
 * Gives back the hold that this handle took last, read or write, as pthread_rwlock_unlock() does.
 * An async acquire takes its hold when it is granted. lk_rdunlock() and lk_wrunlock() give back the
 * last hold of their kind, and lk_downgrade() turns the last write into a read in its place.
 *
 * LK_OK · LK_NOT_HELD: nothing is held; nothing changed · LK_LOST, LK_UNAVAILABLE, LK_DENIED,
 * LK_UNSUPPORTED, LK_CANCELED, LK_INVALID, LK_NOMEM, LK_INTERNAL: as lk_wrunlock().
 *
 * Blocks for a round trip, command_timeout_ms at most. Refused (LK_INVALID) inside a callback,
 * unless lost.
 */
LK_API lk_status lk_unlock(lk_lock *);

/*
 * Turns one write hold into a read hold, at one instant: nobody writes in between, and readers who
 * wait may come in.
 *
 * LK_OK · LK_NOT_HELD: no write hold · LK_LOST: it was lost; the hold still wants its lk_wrunlock()
 * · LK_UNAVAILABLE: no answer in time: the hold counts as a read from now on, and the server is
 * told in the background · LK_CANCELED: lk_close() meanwhile; the hold is gone, given back or left
 * to run out · LK_DENIED · LK_UNSUPPORTED · LK_INVALID · LK_NOMEM · LK_INTERNAL. Blocks for a round
 * trip, command_timeout_ms at most. Refused (LK_INVALID) inside a callback.
 */
LK_API lk_status lk_downgrade(lk_lock *);

/*
 * Renews the hold by hand, for lease_ms from now (0: the handle's lease), never to an earlier end
 * than it had.
 *
 * LK_OK · LK_NOT_HELD · LK_LOST: the server says it is gone, or it ran out · LK_UNAVAILABLE: not
 * known whether it was renewed; lk_remaining_ms() says what is sure · LK_CANCELED: lk_lock_free()
 * or lk_close() meanwhile; the hold is gone, given back or left to run out · LK_DENIED ·
 * LK_UNSUPPORTED · LK_INVALID: lease_ms · LK_NOMEM · LK_INTERNAL. Blocks for a round trip,
 * command_timeout_ms at most. Refused (LK_INVALID) inside a callback.
 */
LK_API lk_status lk_renew(lk_lock *, int64_t lease_ms);

/*
 * Calls that wait for this handle, and async acquires that do, end with LK_CANCELED, unless they
 * are granted in that very moment. Holds stay. LK_OK, also if nothing waited · LK_INVALID. Does not
 * wait for them; never blocks; may be called inside a callback.
 */
LK_API lk_status lk_cancel(lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * asking */

/* Whether the handle surely holds the lock, by this machine's clock, at this instant; a loss by
 * force it knows when it is told. Never blocks; false for NULL. */
LK_API bool lk_valid(const lk_lock *);

/* For how long it surely will, without further renewal; 0 when it does not, and for NULL. Never
 * blocks. */
LK_API int64_t lk_remaining_ms(const lk_lock *);

/*
 * How many read holds and how many write holds the handle has: how often it is to be unlocked. A
 * lost hold counts until it is unlocked; a hold that is being given back counts until that is done.
 * 0 after lk_close(), in a child of fork(), and for NULL. Never block.
 */
LK_API unsigned lk_reads(const lk_lock *);
LK_API unsigned lk_writes(const lk_lock *);

/*
 * The fencing token of the hold. That of a write is above every earlier token of this lock; that of
 * a read is not below that of any earlier write, and above it if that one was lost. A store that
 * keeps the greatest it has seen, and refuses smaller ones, is safe from a holder that lost the
 * lock and does not know it yet. It stays readable when the hold is lost, until that is unlocked. 0
 * when nothing is held, and for NULL. Below 2^53. Never blocks.
 */
LK_API uint64_t lk_fence(const lk_lock *);

/*
 * Whether, when this hold was granted, a writer had died or lost the lock while it held it, and no
 * writer has given it back in good order since: what the lock protects may be half written. The
 * server forgets it after an hour, if nobody holds the lock then. False for NULL. Never blocks.
 */
LK_API bool lk_abandoned(const lk_lock *);

/*
 * Who the handle acts for: the owner of its options, or the text of the handle itself. Another
 * handle, also in another process, that is made with this owner is never excluded by this one. Good
 * as long as the handle; NULL for NULL.
 */
LK_API const char *lk_owner(const lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * async */

/*
 * The operation is over, with this status. Called exactly once, on the client's callback thread, or
 * with `dispatch` on the thread that calls lk_dispatch(). All callbacks of a client run one after
 * the other, without any lock of the library's: a callback may take its time, and use every call
 * here but lk_close(), lk_dispatch() and those that block. It may free the handle.
 */
typedef void lk_done_fn(lk_lock *, lk_status, void *arg);

/*
 * Begins to take (wait_ms as lk_timedrdlock(): 0 does not wait, -1 waits as long as it takes) or to
 * give back a hold. LK_OK: `done` will be called, with one of the statuses of the calls above.
 * Anything else: it will not; LK_INVALID: an argument, also wait_ms below -1 · LK_NOMEM. Operations of one handle are done in the order in which
 * they were begun, where one has to wait for the other. `done` may be NULL. Never block.
 */
LK_API lk_status lk_acquire_async(lk_lock *, lk_mode, int64_t wait_ms, lk_done_fn *done, void *arg);
LK_API lk_status lk_release_async(lk_lock *, lk_mode, lk_done_fn *done, void *arg);

/* ------------------------------------------------------------------------------------------------
 * event loops */

/*
 * A descriptor for poll(2), epoll(7) and their like, of a client that was opened with `dispatch`.
 * It is readable while callbacks are pending and no thread runs any; waiting for it edge-triggered
 * works too. It is the client's: do not read, write or close it. lk_close() does that; take it out
 * of the loop before. -1 without `dispatch`, in a child of fork(), and for NULL. Never blocks.
 */
LK_API int lk_fd(lk_client *);

/*
 * Runs the callbacks that are pending, those of handles and those of the log, on this thread, in
 * the order in which they became due. A callback that becomes due meanwhile is for the next call:
 * so callbacks that begin operations do not keep the loop in here. Returns at once if another
 * thread runs callbacks of this client; if some are left after that, lk_fd() is readable again.
 * Callbacks are kept in memory until somebody calls this.
 *
 * LK_OK: also if none was pending · LK_INVALID: the client was opened without `dispatch`, or before
 * fork(), or lk_close() has begun; or inside a callback of this client. Blocks while the callbacks
 * run.
 */
LK_API lk_status lk_dispatch(lk_client *);

/* ------------------------------------------------------------------------------------------------
 * seeing */

typedef struct {
    const char *handle, *owner, *group;
    const char *app, *host; /* "" if unknown */
    int64_t pid;            /* 0 if unknown */
    unsigned reads, writes;
    int64_t left_ms; /* of its lease */
    int64_t held_ms;
    uint64_t fence;
    bool provisional; /* granted by hand-over, and not claimed yet */
} lk_holder_info;

typedef struct {
    const char *handle, *owner, *group;
    const char *app, *host;
    int64_t pid;
    lk_mode mode;
    bool upgrade; /* it holds reads, and waits before everyone */
    int64_t waited_ms;
    int64_t left_ms; /* until it counts as dead */
} lk_waiter_info;

/* A lock as it was at one instant. */
typedef struct {
    const char *name;
    int64_t server_time_us;
    lk_policy policy; /* LK_FAIR when nobody holds */
    uint64_t fence;   /* the last one given out, 0 if nobody knows any more */
    bool abandoned;
    size_t holder_total, waiter_total;
    const lk_holder_info *holders; /* by the end of their lease; the first 1000 */
    size_t holder_count;
    const lk_waiter_info *waiters; /* in the order in which they come next; the first 1000 */
    size_t waiter_count;
    void *reserved[4];
} lk_info;

/*
 * What is known of a lock: who holds it, who waits. A lock that nobody uses is LK_OK with nobody in
 * it. *out is yours, free it with lk_info_free(), which takes NULL.
 *
 * LK_OK · LK_INVALID: the name, or its key holds something else · LK_UNAVAILABLE · LK_CANCELED:
 * lk_close() meanwhile · LK_DENIED · LK_UNSUPPORTED · LK_NOMEM · LK_INTERNAL. Blocks for a round
 * trip, command_timeout_ms at most. Refused (LK_INVALID) inside a callback.
 */
LK_API lk_status lk_inspect(lk_client *, const char *name, lk_info **out);
LK_API void lk_info_free(lk_info *);

/* One lock's name. Return false to hear no more. Called on the caller's thread, and may use every
 * call here. */
typedef bool lk_list_fn(const char *name, void *arg);

/*
 * Calls `each` with the name of every lock that somebody holds, waits for, or left abandoned,
 * sorted by bytes, each once. pattern: of the name, as in fnmatch(3): *, ?, [a-z], \; NULL for all.
 * Locks that come or go meanwhile may be there or not. A key that is named like a lock's and holds
 * something else is told of too: lk_inspect() says LK_INVALID to it. The server is walked in small
 * steps (SCAN), and is never stopped.
 *
 * LK_OK · LK_INVALID · LK_UNAVAILABLE · LK_CANCELED: lk_close() meanwhile · LK_DENIED ·
 * LK_UNSUPPORTED · LK_NOMEM · LK_INTERNAL. A call that fails has not called `each`. Blocks for as
 * many round trips as it takes, command_timeout_ms at most for each. Refused (LK_INVALID) inside a
 * callback.
 */
LK_API lk_status lk_list(lk_client *, const char *pattern, lk_list_fn *each, void *arg);

/*
 * Takes the holds of one owner (as lk_inspect shows it), or with NULL of all, away by force. Their
 * programs are told (on_lost): at once where a handle of the client has waited or has an on_lost
 * (for a tenth of a second: its client listens from then on), otherwise with the next renewal.
 * Those who wait are granted. A writer that goes so leaves the lock abandoned. Waiters stay.
 *
 * LK_OK · LK_NOT_HELD: no such holder · LK_INVALID · LK_UNAVAILABLE: not known whether it happened
 * · LK_CANCELED: lk_close() meanwhile; nothing was taken away · LK_DENIED · LK_UNSUPPORTED ·
 * LK_NOMEM · LK_INTERNAL. Blocks for a round trip, command_timeout_ms at most. Refused (LK_INVALID)
 * inside a callback.
 */
LK_API lk_status lk_force_release(lk_client *, const char *name, const char *owner);

/* ------------------------------------------------------------------------------------------------
 * the server */

typedef enum { LK_UNKNOWN, LK_NO, LK_YES } lk_answer;

/* What a server is, as far as locks are concerned. A text that the server did not tell is "". */
typedef struct {
    const char *server;   /* the URL, without a password */
    const char *kind;     /* "redis", "valkey", or what it calls itself */
    const char *version;  /* of that kind */
    const char *mode;     /* "standalone", "sentinel", "cluster" */
    lk_answer supported;  /* lk_open() takes this version */
    int64_t uptime_s;     /* -1 if unknown */
    lk_answer local;      /* it is the private server of local: */
    lk_answer module;     /* latchkey's module is loaded; not yet: LK_NO */
    lk_answer replica;    /* it has a master, and serves no locks itself */
    int64_t replicas;     /* connected to it; -1 if unknown */
    int64_t maxmemory;    /* bytes; 0: no limit; -1 if unknown */
    const char *eviction; /* its maxmemory-policy */
    lk_answer aof, rdb;   /* persistence: the append-only file, snapshots at save points */
    const char *user;     /* who we are there; of the URL if it did not tell */
    /* Rights that the user lacks, as ACL SETUSER writes them: "+evalsha", "~lk:*", "&lk:*". Keys
     * cannot be tried without a command that has keys: they are in the list then; so are channels. */
    const char *const *missing;
    size_t missing_count;
    const char *const *absent; /* commands that locks need and the server does not know */
    size_t absent_count;
    lk_answer clock_known;   /* its wall clock could be read; LK_YES or LK_NO */
    int64_t clock_offset_us; /* by how much it is ahead of ours; below 0: behind */
    int64_t clock_error_us;  /* the offset is right within this: half of its round trip */
    int64_t round_trip_us;   /* the shortest of a few */
    void *reserved[8];
} lk_facts;

/*
 * Looks at a server, also at one that lk_open() refuses: a replica, one that is too old, a user
 * without the rights. url and options as for lk_open(). Nothing is logged. *out is yours, free it
 * with lk_facts_free(), which takes NULL. Rights are tried, with commands that change nothing: the
 * server's ACL LOG shows those that it denied.
 *
 * LK_OK: it answered, whatever it said · LK_UNAVAILABLE: nobody answers there, or not in time, or
 * LOADING · LK_DENIED: user, password or certificate were refused · LK_INVALID, LK_UNSUPPORTED: the
 * URL or an option · LK_NOMEM · LK_INTERNAL: it cannot be understood why it does not serve.
 *
 * Blocks for connect_timeout_ms and command_timeout_ms at most, beyond looking up the host's name.
 * Starts no thread, but with local: the private server. May be called inside a callback.
 */
LK_API lk_status lk_examine(const char *url, const lk_client_options *options, lk_facts **out);
LK_API void lk_facts_free(lk_facts *);

/* The private server of local:, whether it runs or not. */
typedef struct {
    bool running;
    const char *folder; /* where its files are, and its log; LATCHKEY_LOCAL_DIR names another */
    const char *socket;
    int64_t pid;   /* 0 if it does not run, or is not known */
    bool unshared; /* LATCHKEY_LOCAL_DIR is in a /tmp that is private to this service: programs of
                      the same user outside of it do not see the folder */
    void *reserved[4];
} lk_local_info;

/*
 * Looks for the private server of this user, and starts none. *out is yours, free it with
 * lk_local_info_free(), which takes NULL.
 *
 * LK_OK: whether it runs or not · LK_DENIED: its folder is somebody else's, or open to others ·
 * LK_INVALID: LATCHKEY_LOCAL_DIR cannot be used · LK_UNAVAILABLE: the folder cannot be looked at, or
 * would be in a /tmp that is private to this service · LK_NOMEM. Never blocks on the server.
 */
LK_API lk_status lk_local_status(lk_local_info **out);
LK_API void lk_local_info_free(lk_local_info *);

/*
 * Ends the private server of this user in good order: its locks are on disk, and are there again
 * when the next use of local: starts it, as far as their leases last. A program that has a client
 * of local: open starts it again at once. *ran says whether there was one to end; NULL if nobody
 * wants to know.
 *
 * LK_OK: it has ended, or none ran · LK_UNAVAILABLE: it does not answer, or does not end in time,
 * and what to do · LK_DENIED, LK_INVALID, LK_NOMEM as lk_local_status(). Blocks until it has ended,
 * 10 s at most.
 */
LK_API lk_status lk_local_stop(bool *ran);

#ifdef __cplusplus
}
#endif

#endif
