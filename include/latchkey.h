/*
 * latchkey: reader-writer locks by name, for programs on many machines, on Redis or Valkey: one
 * server, a master that sentinels watch, or a cluster.
 *
 * Limits first.
 *
 * - Threads that share a handle (lk_lock) are one holder and do not exclude each other. To make
 *   threads exclude each other, give each its own handle of the same name.
 * - A hold is a lease. The client renews it while it can reach the server. When it cannot, the hold
 *   expires: on this machine first, and only then on the server. The handle is then lost:
 *   lk_valid() returns false, and on_lost is called. Before work that needs the lock, check
 *   lk_valid(), or pass lk_fence() to the store that the work writes to.
 * - A lock is as durable as the server. A server that loses its data loses its locks.
 *   docs/GUARANTEES.md has the full list.
 * - A signal handler must not call any function of this header.
 *
 * The following holds for all functions. Their comments do not repeat it.
 *
 * - Failure: the function returns a status, and lk_last_error() returns a sentence about it.
 *   Outputs are unchanged.
 * - Misuse: the function returns LK_INVALID if a required argument is NULL; if the client is
 *   closed, or was opened before a fork(); or if the function blocks and is called inside a
 *   callback of the same client.
 * - Threads: any thread may call any function at any time. A thread that is canceled by
 *   pthread_cancel() inside a call ends after the call has returned. To end a wait, call
 *   lk_cancel().
 * - fork(): a child must open its own client. Clients and handles of the parent cannot be used in
 *   the child: functions return LK_INVALID, false, 0 or -1. Only lk_owner() still works. In the
 *   child lk_close() closes the child's copies of the descriptors and does nothing else, and
 *   lk_lock_free() does nothing.
 * - Options: in every struct of options, a field that is 0 or NULL means its default. Initialize
 *   the struct with {0}.
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

/* Every status: its code, and its meaning in a few words. lk_last_error() says more. */
#define LK_STATUSES(X)                                                               \
    X(LK_OK, "done")                                                                 \
    X(LK_BUSY, "others hold the lock or wait for it")                                \
    X(LK_TIMEOUT, "the wait ended before the lock was granted")                      \
    X(LK_CANCELED, "canceled by another call")                                       \
    X(LK_NOT_HELD, "this handle does not hold the lock in this mode")                \
    X(LK_LOST, "the hold was lost before it was released")                           \
    X(LK_DEADLOCK, "another holder already waits to upgrade; release the read hold") \
    X(LK_UNAVAILABLE, "the server cannot be reached, or cannot serve locks now")     \
    X(LK_DENIED, "the server denies access")                                         \
    X(LK_UNSUPPORTED, "this server or this build does not support it")               \
    X(LK_INVALID, "an argument is not valid, or the call is not allowed here")       \
    X(LK_NOMEM, "out of memory, threads or descriptors")                             \
    X(LK_INTERNAL, "a bug in latchkey, or an answer that it cannot read")

#define LK_STATUS_CODE(code, text) code,
typedef enum { LK_STATUSES(LK_STATUS_CODE) } lk_status;
#undef LK_STATUS_CODE

/* Returns the name of a status, such as "LK_BUSY". For a number that is not a status it returns
 * "LK_?". Never NULL. The text is static: do not free it. */
LK_API const char *lk_status_name(lk_status);

/* Returns the meaning of a status in a few words. Never NULL, also for a number that is not a
 * status. The text is static: do not free it. */
LK_API const char *lk_status_text(lk_status);

/*
 * Returns a sentence about the last call of this thread that failed: what failed, for which lock,
 * on which server, and what to do about it. In a callback, the sentence is about the operation that
 * the callback reports. Never NULL; "" before the first failure. The sentence never contains a
 * password. It belongs to the library and is valid until this thread calls the library again.
 */
LK_API const char *lk_last_error(void);

/* The version of this header, to compare in #if: LK_VERSION_NUMBER is 10203 for 1.2.3. */
#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0
#define LK_VERSION_NUMBER (LK_VERSION_MAJOR * 10000 + LK_VERSION_MINOR * 100 + LK_VERSION_PATCH)
#define LK_VERSION_STRING "0.1.0"

/* Returns the version of the library that runs, such as "0.1.0". LK_VERSION_STRING is the version
 * that the program was compiled with. The text is static: do not free it. */
LK_API const char *lk_version(void);

/* ------------------------------------------------------------------------------------------------
 * client */

/* A connection to the server that has the locks. Many threads and many handles can share one. */
typedef struct lk_client lk_client;

/* A handle on one lock. It can hold the lock, wait for it, or have lost it. */
typedef struct lk_lock lk_lock;

/* Readers share a lock; a writer holds it alone. */
typedef enum { LK_READ, LK_WRITE } lk_mode;

/* The order in which a lock is granted. A lock has the policy of the request that found it free. */
typedef enum {
    LK_FAIR,          /* Strictly in the order of requests. */
    LK_PHASE_FAIR,    /* All waiting readers of one group, then one writer, and so on. If there is
                         only one group, a reader waits for one writer at most. */
    LK_PREFER_WRITER, /* Readers are granted only while no writer waits. */
    LK_PREFER_READER  /* Writers are granted only while no reader holds or waits. */
} lk_policy;

/* The severity of a line of the log. */
typedef enum { LK_LOG_DEBUG, LK_LOG_INFO, LK_LOG_WARNING, LK_LOG_ERROR } lk_log_level;

/* Receives one line of the log, without a line feed. Runs as described for lk_done_fn. */
typedef void lk_log_fn(lk_log_level, const char *line, void *arg);

/*
 * The options of lk_open() and lk_examine(). For a field that is 0 or NULL, they first look in the
 * environment and the configuration files, as described for lk_open(), and then use the default.
 *
 * The four tls_ fields are for URLs with TLS, such as rediss://. With URLs without TLS they are
 * refused with LK_INVALID. With local: they are ignored.
 */
typedef struct {
    /* The name that lk_inspect() shows for this program, up to 128 bytes. Default: the program's
     * name. */
    const char *app;
    /* The beginning of all keys and channels on the server, 1 to 64 bytes without braces. Default:
     * "lk". */
    const char *prefix;
    /* How long one attempt to connect may take, up to 86,400,000. Default: 5000. */
    int64_t connect_timeout_ms;
    /* How long the server may be silent or unreachable before a call gives up, up to 86,400,000.
     * Default: 5000. */
    int64_t command_timeout_ms;
    /* How many replicas must have a grant before an acquire returns LK_OK, and a renewal before it
     * counts, 0 to 1000. If too few confirm a grant in time, the client releases the lock again,
     * and the call returns LK_UNAVAILABLE. So a failover does not lose the grant, if it promotes
     * one of these replicas: that is certain only if min_replicas is the number of replicas that
     * may be promoted. Each grant takes one more round trip. Default: 0, the server alone. */
    int min_replicas;
    /* How long replicas may take to confirm, up to half of command_timeout_ms. Default: 1000. */
    int64_t replica_timeout_ms;
    /* A file or folder of CA certificates to trust. Default: those of the system. */
    const char *tls_ca;
    /* A file with the client's certificate and its chain. Default: no certificate. */
    const char *tls_cert;
    /* A file with the private key of tls_cert. Default: the file of tls_cert. */
    const char *tls_key;
    /* The name that the server's certificate must have. Default: the host of the URL. */
    const char *tls_server_name;
    /* Receives the lines of the log. Default: NULL, no log. */
    lk_log_fn *log;
    /* Passed to `log`. Default: NULL. */
    void *log_arg;
    /* true: callbacks run inside lk_dispatch(), and the client starts no thread for them. Default:
     * false. */
    bool dispatch;
    /* Reserved for later versions. Default: NULL. */
    void *reserved[7];
} lk_client_options;

/*
 * Opens a client: reads the URL, connects, and checks that the server can serve locks.
 *
 *   local:
 *       A private server for this user on this machine. The first use starts it, and it keeps
 *       running. Its folder is /run/latchkey for root and /tmp/latchkey-<uid> for other users.
 *       LATCHKEY_LOCAL_DIR can name another folder.
 *   redis://[user[:password]@]host[:port][/db]
 *       A server at a TCP address. The default port is 6379, the default db is 0. An IPv6 address
 *       stands in brackets: [::1].
 *   rediss://...
 *       The same with TLS. The certificate chain and the host name are verified. The shared library
 *       loads OpenSSL when the first such URL is opened.
 *   unix:///path/of/socket[?db=n]
 *       A server at a Unix socket. With a login: unix://user:password@/path.
 *   redis+sentinel://[login@]host[:port][,host...]/master[/db]
 *       The server that the sentinels at these hosts name as the master. The client follows
 *       failovers; docs/GUARANTEES.md says what callers see. The default port is 26379. The login
 *       is for the servers; sentinels can have their own. rediss+sentinel:// uses TLS for both.
 *   redis+cluster://[login@]host[:port][,host...]
 *       The cluster to which the nodes at these hosts belong. Each lock is on one node. The client
 *       follows failovers, and slots that move. The default port is 6379. The login is for all
 *       nodes. rediss+cluster:// uses TLS for all nodes.
 *
 * `valkey` may be written in place of `redis`. The user may be empty, as in `:password@`. Bytes of
 * the user, the password and the path may be percent-encoded, as in %41. Other users of the machine
 * can see a URL on a command line, so keep the password in a password_file or in LATCHKEY_PASSWORD.
 * latchkey-url(7) describes all forms of URLs.
 *
 * If url is NULL, the client uses the first of these that is set: the variable LATCHKEY_URL, `url`
 * in the user's configuration file, `url` in the system's configuration file. If none is set, it
 * uses local:. If options is NULL, all options have their defaults. The library copies url and
 * options, and reads the environment and the files only during this call. *out belongs to the
 * caller, who ends it with lk_close().
 *
 * An option that is 0 or NULL may be set in the environment (LATCHKEY_PREFIX, LATCHKEY_TLS_CA and
 * so on) and, if url is NULL, in the configuration files; latchkey.conf(5) has the rules. If url is
 * not NULL, no configuration file is read. TLS settings of the environment and the files are
 * ignored for a URL without TLS, but a file must not set such a URL and TLS settings together.
 *
 *   LK_OK           The client is open.
 *   LK_INVALID      The URL, an option, a variable or a file is not valid, or the sentinels do not
 *                   know the master of the URL, or the server does not have its db. Or the
 *                   configuration sets require_server, and the URL would be local:.
 *                   lk_last_error() names the option or the variable, or begins with "file:line:"
 *                   if the value is from a configuration file.
 *   LK_UNAVAILABLE  No server answers in time, or the server cannot serve locks now: it is a
 *                   replica, or still loads its data. With local:, no server program was found, the
 *                   server did not start, or /tmp is private to this service (PrivateTmp of
 *                   systemd) and other programs of this user would not see the folder.
 *   LK_DENIED       The server refused the user, the password or the client's certificate; or the
 *                   server's certificate is not trusted. With local:, the folder belongs to another
 *                   user, or others can write to it.
 *   LK_UNSUPPORTED  This version does not support the scheme or an option, the TLS module for
 *                   rediss:// is not installed, or the server is older than 6.2. Or, with
 *                   redis://, the server is a sentinel or a node of a cluster; with
 *                   redis+sentinel://, it is not a sentinel; with redis+cluster://, it is not a
 *                   node of a cluster.
 *   LK_NOMEM        Out of memory, threads or descriptors.
 *   LK_INTERNAL     The server refused with an error that latchkey does not know, or sent an answer
 *                   that latchkey cannot read.
 *
 * Blocks for up to connect_timeout_ms, plus the time to look up the host name. Starts one thread,
 * which renews holds. With sentinels, a second thread listens to them; with a cluster, a second
 * thread asks the nodes which of them has which locks. The nodes of a cluster are connected when
 * they are first needed. Later attempts to connect run on short-lived threads. Without `dispatch`, one more thread starts when the program first asks
 * for a callback: log, on_lost or done.
 */
LK_API lk_status lk_open(const char *url, const lk_client_options *options, lk_client **out);

/* The server and prefix that lk_open(NULL, NULL, ...) would use, and where each was set. */
typedef struct {
    /* The URL without its password. "" if it is not valid; lk_open() then says why. */
    const char *url;
    /* Where the URL was set: "LATCHKEY_URL" or, for example, "/etc/latchkey.conf:3". "" if it was
     * not set: the URL is then local:. */
    const char *url_from;
    /* The beginning of all keys and channels on the server. */
    const char *prefix;
    /* Where the prefix was set, as in url_from. "" if it is the default. */
    const char *prefix_from;
    void *reserved[8];
} lk_defaults;

/*
 * Reads the environment and the configuration files as lk_open(NULL, NULL, ...) does, but does not
 * connect. The private server of local: serves one user on one machine. A program whose locks must
 * reach further can check here that a server was configured. *out belongs to the caller, who frees
 * it with lk_defaults_free(). lk_defaults_free(NULL) does nothing.
 *
 *   LK_OK           *out has the defaults.
 *   LK_INVALID      A configuration file, a password file or a variable other than LATCHKEY_URL is
 *                   not valid. Or the configuration sets require_server, and the URL would be
 *                   local:.
 *   LK_NOMEM        Out of memory.
 *
 * Blocks only to read files.
 */
LK_API lk_status lk_defaults_read(lk_defaults **out);
LK_API void lk_defaults_free(lk_defaults *);

/*
 * Closes a client. Pending acquires and renewals end with LK_CANCELED. So do other operations, if
 * the server does not answer in time. All holds of its handles are released. Pending callbacks are
 * called, and the client's threads end. The handles must still be freed with lk_lock_free(). Other
 * functions cannot use them: lk_valid() returns false, and functions with a status return
 * LK_INVALID. lk_close(NULL) does nothing.
 *
 * Blocks while callbacks run, while a host name is looked up, and while the server does not answer,
 * for up to command_timeout_ms. A hold that could not be released by then expires with its lease.
 * With `dispatch`, the remaining callbacks run on this thread. If another thread runs callbacks,
 * the call first waits for that thread. Inside a callback of the same client the call is refused
 * and logged.
 */
LK_API void lk_close(lk_client *);

/* ------------------------------------------------------------------------------------------------
 * handles */

/*
 * Reports that a handle has lost its holds: the lease expired, the server no longer has them, or
 * lk_force_release() removed them. A handle loses all its holds together, and this is called once
 * for each loss. Runs as described for lk_done_fn.
 */
typedef void lk_lost_fn(lk_lock *, void *arg);

/* The options of lk_lock_new(). */
typedef struct {
    /* How long a hold lasts without renewal, 100 to 86,400,000. Default: 30000. */
    int64_t lease_ms;
    /* The policy of the lock, if a request of this handle finds it free. Default: LK_FAIR. */
    lk_policy policy;
    /* The group of its read holds, up to 64 bytes. Readers of one group share the lock; different
     * groups exclude each other. Default: "". */
    const char *group;
    /* The owner that the handle acts for, 1 to 128 bytes. Handles of one owner never exclude each
     * other. Default: the handle itself. */
    const char *owner;
    /* true: the client does not renew holds by itself; call lk_renew(). Default: false. */
    bool manual_renew;
    /* Called when the handle loses its holds. Default: NULL, no callback. */
    lk_lost_fn *on_lost;
    /* Passed to on_lost. Default: NULL. */
    void *on_lost_arg;
    /* Reserved for later versions. Default: NULL. */
    void *reserved[8];
} lk_lock_options;

/*
 * Makes a handle on the lock `name`: 1 to 512 bytes, by convention <type>:<id>. Sends nothing to
 * the server. If options is NULL, all options have their defaults. The library copies name and
 * options. *out belongs to the caller, who frees it with lk_lock_free().
 *
 *   LK_OK           *out is the handle.
 *   LK_INVALID      The name or an option is not valid; lk_last_error() names it.
 *   LK_NOMEM        Out of memory, or no thread for callbacks can be started.
 *
 * Never blocks.
 */
LK_API lk_status lk_lock_new(lk_client *, const char *name, const lk_lock_options *options,
                             lk_lock **out);

/*
 * Frees a handle. Its holds are released in the background. Acquires and renewals that still wait
 * on it end with LK_CANCELED. on_lost is not called any more. The handle must not be used after
 * this call. lk_lock_free(NULL) does nothing.
 *
 * Blocks until the callbacks of the handle's operations have run. An async release may have to wait
 * for the server's answer first, for up to command_timeout_ms. With `dispatch`, this call runs the
 * callbacks of this handle itself, and no other callbacks. While another thread runs callbacks of
 * the client, this call waits for that thread. Inside a callback of the same client this call does
 * not block: the callbacks run after it.
 */
LK_API void lk_lock_free(lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * acquiring and releasing */

/*
 * Acquire a read or a write hold.
 *
 *   lk_rdlock, lk_wrlock             Wait as long as it takes.
 *   lk_tryrdlock, lk_trywrlock       Do not wait.
 *   lk_timedrdlock, lk_timedwrlock   Wait for up to wait_ms, counted from the call. 0: do not wait.
 *                                    -1: wait as long as it takes.
 *
 * Holds nest: a handle can hold the lock many times, and each hold needs its own release. A handle
 * that holds the lock is granted further reads at once, also inside its writes, and further writes
 * inside its writes. A write on top of reads is an upgrade: it is granted as soon as no other owner
 * holds the lock, before all other waiters.
 *
 *   LK_OK           The handle has one more hold.
 *   LK_BUSY         The lock is not free, or another thread waits with this handle. Only the try
 *                   functions and wait_ms 0 return this.
 *   LK_TIMEOUT      wait_ms have passed. The call leaves nothing behind on the server.
 *   LK_CANCELED     lk_cancel(), lk_lock_free() or lk_close() was called meanwhile.
 *   LK_DEADLOCK     The call is an upgrade, and the upgrade of another holder already waits. Each
 *                   would wait for the other forever. Release the read hold and start again.
 *   LK_LOST         The handle has lost its holds, before or during the call. Release each of them
 *                   first: lk_reads() and lk_writes() say how many there are.
 *   LK_UNAVAILABLE  The server did not answer for command_timeout_ms; or it was unreachable when
 *                   wait_ms had passed; or its grant arrived after the lease had expired; or it
 *                   cannot serve locks now: it is a replica, is out of memory, or cannot save its
 *                   data. The call holds nothing. The client releases in the background what the
 *                   server may have granted.
 *   LK_DENIED       The user lacks rights on the server; `latchkey doctor` lists them.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster.
 *   LK_INVALID      wait_ms is below -1, a key with the name of this lock holds something else, or
 *                   the handle already has 65,535 holds of this mode.
 *   LK_NOMEM        Out of memory.
 *   LK_INTERNAL     The server's answer cannot be understood.
 *
 * Block as described, plus up to command_timeout_ms for the server's answer. A shorter outage, such
 * as a restart of the server or a lost connection, does not end the call.
 */
LK_API lk_status lk_rdlock(lk_lock *);
LK_API lk_status lk_tryrdlock(lk_lock *);
LK_API lk_status lk_timedrdlock(lk_lock *, int64_t wait_ms);
LK_API lk_status lk_wrlock(lk_lock *);
LK_API lk_status lk_trywrlock(lk_lock *);
LK_API lk_status lk_timedwrlock(lk_lock *, int64_t wait_ms);

/*
 * Release one hold. If this frees the lock, the server grants it to the next waiters in the same
 * step.
 *
 *   lk_rdunlock   Releases the newest read hold.
 *   lk_wrunlock   Releases the newest write hold.
 *   lk_unlock     Releases the newest hold, read or write, like pthread_rwlock_unlock(). A write
 *                 hold that was downgraded is as old as before.
 *
 *   LK_OK           The hold is released.
 *   LK_NOT_HELD     The handle has no such hold. Nothing changed.
 *   LK_LOST         The hold was lost. This call counts as its release. After the release of its
 *                   last lost hold, the handle can be used again.
 *   LK_CANCELED     lk_close() was called meanwhile. The hold was released, or expires.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now. The
 *                   caller no longer has the hold. The client retries the release in the
 *                   background, until the hold has expired.
 *   LK_DENIED       The user lacks rights on the server. The hold is gone, as with LK_UNAVAILABLE.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster. The hold is gone, as with LK_UNAVAILABLE.
 *   LK_INVALID      The call is not allowed here, and nothing changed. Or the key of the lock now
 *                   holds something else, and the hold is gone, as with LK_UNAVAILABLE.
 *   LK_NOMEM        Out of memory. Nothing changed.
 *   LK_INTERNAL     The server's answer cannot be understood. lk_reads() and lk_writes() say
 *                   whether the handle still has the hold.
 *
 * Block for one round trip, up to command_timeout_ms. A callback may release a hold that is lost.
 */
LK_API lk_status lk_rdunlock(lk_lock *);
LK_API lk_status lk_wrunlock(lk_lock *);
LK_API lk_status lk_unlock(lk_lock *);

/*
 * Turns the newest write hold into a read hold in one step: no other writer is granted in between.
 * Waiting readers may be granted.
 *
 *   LK_OK           The write hold is a read hold now.
 *   LK_NOT_HELD     The handle has no write hold. Nothing changed.
 *   LK_LOST         The hold was lost, and still needs its lk_wrunlock(). Or another thread has
 *                   released it meanwhile.
 *   LK_CANCELED     lk_close() was called meanwhile. The hold was released, or expires.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now. The
 *                   hold counts as a read hold from now on, and the client tells the server in the
 *                   background.
 *   LK_DENIED       The user lacks rights on the server. The hold counts as a read hold, as with
 *                   LK_UNAVAILABLE.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster. The hold counts as a read hold, as with LK_UNAVAILABLE.
 *   LK_INVALID      The call is not allowed here, or the handle already has 65,535 read holds;
 *                   nothing changed. Or the key of the lock now holds something else, and the hold
 *                   counts as a read hold, as with LK_UNAVAILABLE.
 *   LK_NOMEM        Out of memory. Nothing changed.
 *   LK_INTERNAL     The server's answer cannot be understood. lk_reads() and lk_writes() say which
 *                   hold the handle has.
 *
 * Blocks for one round trip, up to command_timeout_ms.
 */
LK_API lk_status lk_downgrade(lk_lock *);

/*
 * Renews the lease of the handle's holds: they last for lease_ms from now, or longer if they
 * already did. lease_ms is 100 to 86,400,000; 0 means the lease of the handle. Only a handle with
 * manual_renew needs this call.
 *
 *   LK_OK           The lease is renewed.
 *   LK_NOT_HELD     The handle has no hold.
 *   LK_LOST         The hold was lost, or another thread released it meanwhile.
 *   LK_CANCELED     lk_lock_free() or lk_close() was called meanwhile. The hold was released, or
 *                   expires.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now. The
 *                   lease may be renewed or not; lk_remaining_ms() returns the part that is
 *                   certain.
 *   LK_DENIED       The user lacks rights on the server.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster.
 *   LK_INVALID      lease_ms is out of range, or the key of the lock now holds something else.
 *   LK_NOMEM        Out of memory.
 *   LK_INTERNAL     The server's answer cannot be understood.
 *
 * Blocks for one round trip, up to command_timeout_ms.
 */
LK_API lk_status lk_renew(lk_lock *, int64_t lease_ms);

/*
 * Cancels all blocking and async acquires that are pending on this handle. They end with
 * LK_CANCELED, unless the lock is granted in the same moment. Holds stay.
 *
 *   LK_OK           The acquires were told to end. Also if none was pending.
 *   LK_INVALID      The handle is NULL or cannot be used any more.
 *
 * Never blocks, and does not wait for the acquires to end. Callbacks may call it.
 */
LK_API lk_status lk_cancel(lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * the state of a handle */

/*
 * Returns true if the handle certainly holds the lock at this instant, by the clock of this
 * machine. The exception is lk_force_release(): it takes effect before the handle is notified.
 * Returns false while the only hold is being released, and for NULL. Never blocks.
 */
LK_API bool lk_valid(const lk_lock *);

/* Returns for how many milliseconds lk_valid() will stay true if the lease is not renewed. 0 if it
 * is false already, and for NULL. Never blocks. */
LK_API int64_t lk_remaining_ms(const lk_lock *);

/*
 * Return how many read holds and how many write holds the handle has: how many releases it needs. A
 * hold, lost or not, counts until its release is complete. 0 after lk_close(), and for NULL. Never
 * block.
 */
LK_API unsigned lk_reads(const lk_lock *);
LK_API unsigned lk_writes(const lk_lock *);

/*
 * Returns the fencing token of the hold, a number below 2^53. The token of a write hold is greater
 * than every earlier token of this lock. The token of a read hold is not less than that of any
 * earlier write hold, and greater if that write hold was lost.
 *
 * Pass the token along with every write to a store. A store that remembers the greatest token, and
 * refuses smaller ones, is safe from a holder that has lost the lock and does not know it yet. The
 * token of a lost hold stays until the hold is released. 0 if the handle holds nothing, after
 * lk_close(), and for NULL. Never blocks.
 */
LK_API uint64_t lk_fence(const lk_lock *);

/*
 * Returns whether the lock was abandoned when the handle last acquired it: a writer had died or
 * lost its hold, and no writer had released the lock normally since. The data that the lock
 * protects may be half written. The server remembers this for at least an hour after the writer was
 * lost. False if the handle holds nothing, after lk_close(), and for NULL. Never blocks.
 */
LK_API bool lk_abandoned(const lk_lock *);

/*
 * Returns the owner that the handle acts for: the owner of its options, or the handle's own id.
 * Handles with this owner, in any process, do not exclude this one. The text belongs to the handle
 * and is valid until the handle is freed. NULL for NULL. Never blocks.
 */
LK_API const char *lk_owner(const lk_lock *);

/* ------------------------------------------------------------------------------------------------
 * async */

/*
 * Reports the end of an async operation and its status. Called exactly once for each operation.
 *
 * All callbacks of a client (lk_done_fn, lk_lost_fn, lk_log_fn) run one after the other: on a
 * thread of the client, or with `dispatch` on the thread that calls lk_dispatch(), lk_lock_free()
 * or lk_close(). The library holds none of its locks meanwhile, so a callback may take its time. A
 * callback may call any function, and may free its handle. The exceptions are lk_close(),
 * lk_dispatch() and the functions that block: they are refused on the same client.
 */
typedef void lk_done_fn(lk_lock *, lk_status, void *arg);

/*
 * Begin to acquire or to release a hold, and return. The wait of an acquire is as for
 * lk_timedrdlock(): 0 does not wait, -1 waits as long as it takes. `done` may be NULL. arg is
 * passed to it.
 *
 * After LK_OK, `done` is called once: for an acquire with a status of lk_wrlock(), for a release
 * with a status of lk_wrunlock(). After any other status it is not called. If one operation of a
 * handle must wait for another, they run in the order in which they began: a release that begins
 * before its acquire is granted waits for the grant.
 *
 *   LK_OK           The operation has begun.
 *   LK_INVALID      The mode is neither LK_READ nor LK_WRITE, or wait_ms is below -1.
 *   LK_NOMEM        Out of memory, or no thread for callbacks can be started.
 *
 * Never block. Callbacks may call them.
 */
LK_API lk_status lk_acquire_async(lk_lock *, lk_mode, int64_t wait_ms, lk_done_fn *done, void *arg);
LK_API lk_status lk_release_async(lk_lock *, lk_mode, lk_done_fn *done, void *arg);

/* ------------------------------------------------------------------------------------------------
 * event loops */

/*
 * Returns a descriptor for poll(2) or epoll(7), for a client that was opened with `dispatch`. It is
 * readable while callbacks are pending and no thread runs them. Edge-triggered polling works too.
 * The descriptor belongs to the client: do not read, write or close it. Remove it from the loop
 * before lk_close(), which closes it. Returns -1 without `dispatch`, and for NULL. Never blocks.
 */
LK_API int lk_fd(lk_client *);

/*
 * Runs the pending callbacks of a client on this thread, in the order in which they became due. A
 * callback that becomes due meanwhile is left for the next call, so this call ends even if the
 * callbacks begin new operations. If another thread runs callbacks of this client, the call returns
 * at once; if some are left afterwards, lk_fd() becomes readable again. Pending callbacks stay in
 * memory until they run.
 *
 *   LK_OK           The callbacks have run. Also if none was pending.
 *   LK_INVALID      The client was opened without `dispatch`, or the call is inside a callback of
 *                   this client.
 *
 * Blocks while the callbacks run.
 */
LK_API lk_status lk_dispatch(lk_client *);

/* ------------------------------------------------------------------------------------------------
 * inspecting and forcing */

/* One holder of a lock. */
typedef struct {
    const char *handle, *owner, *group;
    const char *app, *host; /* Its program and machine. "" if unknown. */
    int64_t pid;            /* Its process. 0 if unknown. */
    unsigned reads, writes; /* How many holds of each mode it has. */
    int64_t left_ms;        /* The rest of its lease. */
    int64_t held_ms;        /* How long it has held the lock. */
    uint64_t fence;         /* Its fencing token. */
    bool provisional;       /* Granted from the queue, and not yet confirmed by its client. */
} lk_holder_info;

/* One waiter of a lock. */
typedef struct {
    const char *handle, *owner, *group;
    const char *app, *host; /* Its program and machine. "" if unknown. */
    int64_t pid;            /* Its process. 0 if unknown. */
    lk_mode mode;
    bool upgrade;      /* Its owner holds the lock, and it waits before all others. */
    int64_t waited_ms; /* How long it has waited. */
    int64_t left_ms;   /* Time until the waiter is dropped if its client stays silent. */
} lk_waiter_info;

/* A lock at one instant. */
typedef struct {
    const char *name;
    int64_t server_time_us; /* The instant, by the server's clock: microseconds since 1970. */
    lk_policy policy;       /* LK_FAIR if nobody holds or waits. */
    uint64_t fence;         /* The last token that was granted. 0 if the server has forgotten it. */
    bool abandoned;         /* A writer was lost, as described for lk_abandoned(). */
    size_t holder_total, waiter_total; /* All of them, also those beyond the first 1000. */
    const lk_holder_info *holders;     /* The first 1000, by the end of their lease. */
    size_t holder_count;
    const lk_waiter_info *waiters; /* The first 1000, in the order in which they will be granted. */
    size_t waiter_count;
    const char *server; /* The address of the server that has the lock: "host:port", or the path of
                           its socket. */
    void *reserved[3];
} lk_info;

/*
 * Finds out who holds a lock and who waits for it. Changes nothing. A lock that nobody uses is
 * LK_OK with no holders and no waiters. *out belongs to the caller, who frees it with
 * lk_info_free(). lk_info_free(NULL) does nothing.
 *
 *   LK_OK           *out describes the lock.
 *   LK_CANCELED     lk_close() was called meanwhile.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now.
 *   LK_DENIED       The user lacks rights on the server.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster.
 *   LK_INVALID      The name is not 1 to 512 bytes, or a key with this name holds something else.
 *   LK_NOMEM        Out of memory.
 *   LK_INTERNAL     The server's answer cannot be understood.
 *
 * Blocks for one round trip, up to command_timeout_ms.
 */
LK_API lk_status lk_inspect(lk_client *, const char *name, lk_info **out);
LK_API void lk_info_free(lk_info *);

/* Receives the name of one lock from lk_list(), on the thread that called it. Returns false to get
 * no more names. May call any function. */
typedef bool lk_list_fn(const char *name, void *arg);

/*
 * Calls `each` with the name of every lock that has a holder or a waiter or is abandoned. Each name
 * comes once, and they are sorted by bytes. arg is passed to `each`.
 *
 * pattern: which names to list, up to 512 bytes, as in fnmatch(3): *, ?, [a-z], \. NULL lists all.
 *
 * Locks that are acquired or freed during the call, or that a cluster moves, may be listed or not.
 * A key that is named like a lock but holds something else is listed too; lk_inspect() returns
 * LK_INVALID for it. The call scans the server, or all masters of the cluster, in small steps (SCAN),
 * which do not hold up other clients. If a master fails, the call scans the one that replaces it.
 *
 *   LK_OK           All names were listed, or `each` returned false.
 *   LK_CANCELED     lk_close() was called meanwhile.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now.
 *   LK_DENIED       The user lacks rights on the server.
 *   LK_UNSUPPORTED  The server lacks a command that locks need.
 *   LK_INVALID      The pattern is too long.
 *   LK_NOMEM        Out of memory.
 *   LK_INTERNAL     The server's answer cannot be understood.
 *
 * If the call fails, it has not called `each`. Blocks for as many round trips as it takes, up to
 * command_timeout_ms for each.
 */
LK_API lk_status lk_list(lk_client *, const char *pattern, lk_list_fn *each, void *arg);

/*
 * Removes by force the holds of one owner, as lk_inspect() shows it, or of all owners if owner is
 * NULL. The lock is granted to the next waiters. Waiters stay. A writer that is removed leaves the
 * lock abandoned.
 *
 * A handle that loses its holds is notified: immediately if its client has ever waited, or has had
 * a handle with on_lost for 100 ms; otherwise with its next renewal. Until then its lk_valid()
 * stays true.
 *
 *   LK_OK           At least one hold was removed.
 *   LK_NOT_HELD     The owner has no hold, or with NULL nobody has one.
 *   LK_CANCELED     lk_close() was called meanwhile. No hold was removed.
 *   LK_UNAVAILABLE  The server did not answer within command_timeout_ms, or cannot serve now. The
 *                   holds may have been removed.
 *   LK_DENIED       The user lacks rights on the server.
 *   LK_UNSUPPORTED  The server lacks a command that locks need; or, with redis://, it has become a
 *                   node of a cluster.
 *   LK_INVALID      The name is not 1 to 512 bytes, the owner is not 1 to 128 bytes, or a key with
 *                   this name holds something else.
 *   LK_NOMEM        Out of memory.
 *   LK_INTERNAL     The server's answer cannot be understood.
 *
 * Blocks for one round trip, up to command_timeout_ms.
 */
LK_API lk_status lk_force_release(lk_client *, const char *name, const char *owner);

/* ------------------------------------------------------------------------------------------------
 * the server */

/* The answer to a question about a server. */
typedef enum { LK_UNKNOWN, LK_NO, LK_YES } lk_answer;

/* A replica, as its master reports it. */
typedef struct {
    const char *address; /* "host:port". */
    const char *state;   /* "online", or another word while it does not have all data yet. */
    int64_t lag_bytes;   /* How much of the master's changes it has not confirmed. -1 if unknown. */
    int64_t lag_s;       /* How long ago it last confirmed changes. -1 if unknown. */
    void *reserved[4];
} lk_replica_facts;

/*
 * A server that the URL names: a sentinel, or a node of a cluster. The fields after `error` are for
 * sentinels only: what this sentinel says of the master. A number is -1 if it is not known.
 */
typedef struct {
    const char *server;          /* Its URL without its password. */
    lk_status status;            /* LK_OK if it answered, and knows the master. */
    const char *error;           /* If not: why. "" with LK_OK. */
    const char *master;          /* The "host:port" that it names as the master. */
    uint64_t epoch;              /* The failover that made this server the master; it rises. */
    const char *flags;           /* "master"; ",s_down" or ",o_down" follows if it is down. */
    int64_t others;              /* How many other sentinels it knows. */
    int64_t quorum;              /* How many sentinels must agree that the master is down. */
    int64_t down_after_ms;       /* For how long a server must be silent to count as down. */
    int64_t failover_timeout_ms; /* A failed failover is tried again after twice this time. */
    int64_t replicas;            /* How many replicas of the master it knows. */
    int64_t promotable;          /* How many of these it may promote: replica-priority is not 0. */
    lk_answer can_fail_over;     /* Whether it can reach enough sentinels for a failover now. */
    void *reserved[4];
} lk_seed_facts;

/* A master of a cluster with its slots. A number is -1 if it is not known. */
typedef struct {
    const struct lk_facts *master; /* The master. Its `answered` says whether it could be asked. */
    const char *slots;             /* Its slots: "0-5460 5500". */
    int64_t replicas;              /* How many replicas it has. */
    int64_t replicas_down;         /* How many of them the cluster counts as failed. */
    const char *state;             /* What the master says of the cluster: "ok" or "fail". */
    int64_t open_slots;            /* How many slots move to it, or away from it, now. */
    int64_t node_timeout_ms;       /* For how long a node must be silent to count as failed. */
    lk_answer full_coverage;       /* Whether one slot without a master stops all slots. */
    lk_answer pubsub_when_down;    /* Whether sharded messages are sent while the cluster fails. */
    void *reserved[4];
} lk_shard_facts;

/*
 * What lk_examine() found out about a server. A text that is not known is "".
 *
 * With redis+sentinel://, this is the master, and `seeds` are the sentinels. With redis+cluster://,
 * only `server`, `mode` and the fields from `seeds` on are known: each of the `shards` has the
 * facts of its master.
 */
typedef struct lk_facts {
    const char *server;   /* The URL without its password. */
    const char *kind;     /* "redis", "valkey", or the name that it gives itself. */
    const char *version;  /* The version of that kind. */
    const char *mode;     /* "standalone", "sentinel" or "cluster". */
    lk_answer supported;  /* Whether lk_open() accepts this version. */
    int64_t uptime_s;     /* -1 if unknown. */
    lk_answer local;      /* Whether the URL is local:. */
    lk_answer module;     /* Whether latchkey's module is loaded. Always LK_NO in this version. */
    lk_answer replica;    /* Whether it is a replica, which cannot serve locks. */
    int64_t replicas;     /* How many replicas are connected to it. -1 if unknown. */
    int64_t maxmemory;    /* In bytes. 0: no limit. -1 if unknown. */
    const char *eviction; /* Its maxmemory-policy. */
    lk_answer aof, rdb;   /* Its persistence: the append-only file, and snapshots at save points. */
    const char *user;     /* The user of this connection: from the server, or else from the URL. */
    /* The rights that the user lacks, as ACL SETUSER writes them: "+evalsha", "~lk:*", "&lk:*". If
     * the user may run no command with a key, keys cannot be tested, and "~lk:*" is listed. It is
     * the same with channels and "&lk:*", from version 7 of the server on. */
    const char *const *missing;
    size_t missing_count;
    const char *const *absent; /* Commands that locks need and the server does not know. */
    size_t absent_count;
    lk_answer clock_known;   /* Whether the server's wall clock could be read. Never LK_UNKNOWN. */
    int64_t clock_offset_us; /* How far its clock is ahead of ours. Below 0: behind. */
    int64_t clock_error_us;  /* The offset is right to within this: half of its round trip. */
    int64_t round_trip_us;   /* The shortest of a few round trips. */
    /* Whether it answered. LK_NO only for a master that sentinels or a cluster name: then `error`
     * says why, and nothing else is known but `server`. */
    lk_answer answered;
    const char *error;
    /* The replicas that are connected to it. */
    const lk_replica_facts *replica_list;
    size_t replica_list_count;
    /* It refuses writes, and with them locks, while fewer than min_replicas replicas have confirmed
     * changes in the last min_replicas_lag_s seconds. 0: it never does. -1 if unknown. */
    int64_t min_replicas, min_replicas_lag_s;
    /* The servers of the URL, with redis+sentinel:// and redis+cluster://. */
    const lk_seed_facts *seeds;
    size_t seed_count;
    /* The masters of a cluster, in the order of their slots. */
    const lk_shard_facts *shards;
    size_t shard_count;
    const char *uncovered; /* The slots of a cluster that no master has: "100-200 300". */
    void *reserved[8];
} lk_facts;

/*
 * Examines a server, also one that lk_open() refuses: a replica, a version that is too old, a user
 * without the rights. url and options are as for lk_open(), but nothing is logged. *out belongs to
 * the caller, who frees it with lk_facts_free(). lk_facts_free(NULL) does nothing.
 *
 * With redis+sentinel://, it examines all sentinels of the URL, and the master that they name. With
 * redis+cluster://, it examines the nodes of the URL, and all masters of the cluster.
 *
 * Rights are tested with commands that change nothing. The server's ACL LOG shows those that it
 * denied.
 *
 *   LK_OK           The server answered, whatever it said. With sentinels or a cluster: one of the
 *                   servers of the URL named masters, whether these answered or not.
 *   LK_UNAVAILABLE  No server answers in time, or the server cannot serve now, for example because
 *                   it still loads its data. With local:, as for lk_open().
 *   LK_DENIED       The server refused the user, the password or the client's certificate; or the
 *                   server's certificate is not trusted. With local:, as for lk_open().
 *   LK_UNSUPPORTED  This version does not support the scheme or an option, or the TLS module for
 *                   rediss:// is not installed; or, with redis+sentinel://, the server is not a
 *                   sentinel; or, with redis+cluster://, not a node of a cluster.
 *   LK_INVALID      As for lk_open().
 *   LK_NOMEM        Out of memory or descriptors.
 *   LK_INTERNAL     As for lk_open().
 *
 * Blocks for up to connect_timeout_ms plus command_timeout_ms, plus the time to look up the host
 * name; with sentinels and clusters, for each server that it examines. Starts no thread, except
 * with sentinels: these are asked at the same time, on threads that end before the call does. With
 * local: it starts the private server. Callbacks may call it.
 */
LK_API lk_status lk_examine(const char *url, const lk_client_options *options, lk_facts **out);
LK_API void lk_facts_free(lk_facts *);

/* The private server of local:, whether it runs or not. */
typedef struct {
    bool running;
    const char *folder; /* The folder of its files and its log. LATCHKEY_LOCAL_DIR can set it. */
    const char *socket; /* The path of its socket. */
    int64_t pid;        /* 0 if it does not run, or if its pid is unknown. */
    bool unshared;      /* LATCHKEY_LOCAL_DIR is in a /tmp that is private to this service. Other
                           programs of the user do not see it. */
    void *reserved[4];
} lk_local_info;

/*
 * Looks for the private server of this user. Does not start it. If other users can read its folder,
 * the call removes that right. *out belongs to the caller, who frees it with lk_local_info_free().
 * lk_local_info_free(NULL) does nothing.
 *
 *   LK_OK           *out says whether the server runs.
 *   LK_DENIED       Its folder belongs to another user, others can write to it, or it is not the
 *                   folder of a server.
 *   LK_INVALID      LATCHKEY_LOCAL_DIR is not an absolute path, or is too long.
 *   LK_UNAVAILABLE  The folder cannot be read. Or it would be in a /tmp that is private to this
 *                   service.
 *   LK_NOMEM        Out of memory or descriptors.
 *
 * Does not wait for the server.
 */
LK_API lk_status lk_local_status(lk_local_info **out);
LK_API void lk_local_info_free(lk_local_info *);

/*
 * Shuts down the private server of this user. The server saves its locks to disk. The next use of
 * local: starts it again, with the locks whose leases have not expired. An open client of local:
 * starts it again at once. *ran says whether a server was running; ran may be NULL.
 *
 *   LK_OK           The server has ended, or none was running.
 *   LK_UNAVAILABLE  The server does not answer, or did not end in time; lk_last_error() says what
 *                   to do. Or as for lk_local_status().
 *   LK_DENIED       As for lk_local_status(). Or the socket belongs to a server of another user.
 *   LK_INVALID      LATCHKEY_LOCAL_DIR is not an absolute path, or is too long.
 *   LK_NOMEM        Out of memory or descriptors.
 *
 * Blocks until the server has ended, for up to 10 seconds.
 */
LK_API lk_status lk_local_stop(bool *ran);

#ifdef __cplusplus
}
#endif

#endif
