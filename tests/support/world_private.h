/* The part of world.h that only its own files use: the things that a test owns. */
#ifndef TEST_WORLD_PRIVATE_H
#define TEST_WORLD_PRIVATE_H

/* In the order in which the world closes them. */
typedef enum {
    WORLD_CALL,
    WORLD_LOCK,
    WORLD_CLIENT,
    WORLD_INFO,
    WORLD_REPLY,
    WORLD_TEXT,
    WORLD_UNDO, /* a command to send */
    WORLD_PROXY,
    WORLD_FAKE,
    WORLD_CONNECTION,
    WORLD_SERVER,
    WORLD_KINDS
} world_kind;

void world_own(world_kind, void *thing);
void world_disown(const void *thing); /* the world need not own it */

int world_close(void **state); /* after a test, as a fixture of cmocka */

/*
 * The frame of a failed test is gone, but calls and callbacks may still write to it until the world
 * has ended them. So that part of the stack stays as it is: cmocka works above it, run_one() leaves
 * that much room, and the world closes everything below it. A sanitizer would mark the room.
 */
enum { ROOM_FOR_CMOCKA = 64 * 1024, ROOM_FOR_TEST = 512 * 1024 };
#define HAS_ROOM __attribute__((noinline, no_sanitize("address")))

#endif
