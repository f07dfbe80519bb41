/* See private_tmp.h. */
#include "local/private_tmp.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 16 * 1024, TEXT_MOST = 4 * 1024 * 1024 };

typedef struct {
    const char *bytes;
    size_t length;
} span;

/* Fields 3 to 5 of a line such as: 36 35 98:0 /root /mount/point rw,noatime - ext3 /dev/root rw */
typedef struct {
    span device, root, point;
} mount;

static bool is_text(span found, const char *text) {
    return strlen(text) == found.length && memcmp(found.bytes, text, found.length) == 0;
}

static bool read_mount(span line, mount *out) {
    enum { DEVICE = 2, ROOT, POINT, FIELDS };
    span fields[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const char *space = memchr(line.bytes, ' ', line.length);
        if (!space || space == line.bytes)
            return false;
        fields[i] = (span){line.bytes, (size_t)(space - line.bytes)};
        line.length -= fields[i].length + 1;
        line.bytes = space + 1;
    }
    *out = (mount){fields[DEVICE], fields[ROOT], fields[POINT]};
    return true;
}

/* Whether a path is this mount point, or is below it. */
static bool covers(span point, const char *path) {
    if (is_text(point, "/"))
        return true;
    return strncmp(path, point.bytes, point.length) == 0 &&
           (path[point.length] == '/' || path[point.length] == '\0');
}

/* The mount that a path is on: the one with the longest mount point; of equal ones the last. */
static bool find_mount(const char *text, const char *path, mount *out) {
    bool found = false;
    for (const char *end; *text; text = *end ? end + 1 : end) {
        mount row;
        end = strchrnul(text, '\n');
        if (!read_mount((span){text, (size_t)(end - text)}, &row) || !covers(row.point, path))
            continue;
        if (!found || row.point.length >= out->point.length)
            *out = row;
        found = true;
    }
    return found;
}

/* Whether `point` is the same folder in both: `ours` is mounted there, `other` covers it. */
static bool is_same(const mount *ours, const mount *other, const char *point) {
    bool at_root = is_text(other->point, "/"), of_root = is_text(other->root, "/");
    const char *rest = at_root ? point : point + other->point.length;
    size_t before = of_root ? 0 : other->root.length;
    if (ours->device.length != other->device.length ||
        memcmp(ours->device.bytes, other->device.bytes, ours->device.length) != 0)
        return false;
    if (of_root && !*rest)
        return is_text(ours->root, "/");
    return ours->root.length == before + strlen(rest) &&
           memcmp(ours->root.bytes, other->root.bytes, before) == 0 &&
           memcmp(ours->root.bytes + before, rest, strlen(rest)) == 0;
}

bool lki_mount_is_private(const char *ours, const char *inits, const char *point) {
    static const char mark[] = "/systemd-private-";
    mount own, other;
    if (!find_mount(ours, point, &own) || !is_text(own.point, point))
        return false;
    if (memmem(own.root.bytes, own.root.length, mark, sizeof mark - 1))
        return true;
    return inits && find_mount(inits, point, &other) && !is_same(&own, &other, point);
}

/* LK_OK: either *length has grown, or *over is true. The text ends with a NUL. */
static lk_status read_more(int fd, char **text, size_t *length, bool *over, lki_error *error) {
    char *bigger = lki_resize(*text, *length + CHUNK + 1);
    if (!bigger)
        return lki_error_no_memory(error);
    *text = bigger;
    ssize_t got;
    do
        got = read(fd, *text + *length, CHUNK);
    while (got < 0 && errno == EINTR);
    *over = got <= 0;
    *length += got > 0 ? (size_t)got : 0;
    (*text)[*length] = '\0';
    return LK_OK;
}

/*
 * The text of a file of /proc, to be freed with lki_free. *out stays NULL if it cannot be opened.
 */
static lk_status read_text(const char *path, char **out, lki_error *error) {
    char *text = NULL;
    size_t length = 0;
    lk_status status = LK_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return LK_OK;
    for (bool over = false; status == LK_OK && !over && length < TEXT_MOST;)
        status = read_more(fd, &text, &length, &over, error);
    close(fd);
    if (status == LK_OK)
        *out = text;
    else
        lki_free(text);
    return status;
}

static lk_status compare_with_init(const char *point, bool *out, lki_error *error) {
    char *ours = NULL, *inits = NULL;
    lk_status status = read_text("/proc/self/mountinfo", &ours, error);
    if (status == LK_OK)
        status = read_text("/proc/1/mountinfo", &inits, error);
    if (status == LK_OK)
        *out = ours && lki_mount_is_private(ours, inits, point);
    lki_free(ours);
    lki_free(inits);
    return status;
}

lk_status lki_tmp_is_private(const char *path, bool *out, lki_error *error) {
    static const char *const points[] = {"/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        if (covers((span){points[i], strlen(points[i])}, path))
            return compare_with_init(points[i], out, error);
    *out = false;
    return LK_OK;
}
