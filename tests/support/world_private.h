/* The part of world.h that only its own files use: who owns what. */
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
    WORLD_UNDO, /* a command */
    WORLD_PROXY,
    WORLD_FAKE,
    WORLD_CONNECTION,
    WORLD_SERVER,
    WORLD_KINDS
} world_kind;

void world_own(world_kind, void *thing);
void world_disown(const void *thing); /* the world need not own it */

#endif
