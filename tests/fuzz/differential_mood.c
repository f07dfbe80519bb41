/* See differential_mood.h. */
#include "differential_mood.h"

#include "differential_cast.h"

enum { STEPS_LEAST = 25, STEPS_MOST = 160, STRAY_POLICY = 10 };

/* handles locks streak | write upgrade wait groups kin | edge long_lease | repeat renew release
 * force plain */
static const mood_kind kinds[] = {
    {8, 2, 20, 40, 40, 85, 25, 5, 60, 15, 100, 100, 100, 100, 0}, /* a bit of everything */
    {8, 1, 20, 35, 20, 97, 15, 5, 15, 50, 60, 150, 80, 20, 0},    /* a crowd that queues */
    {6, 1, 20, 85, 50, 95, 10, 5, 40, 30, 100, 100, 100, 50, 0},  /* writers */
    {8, 1, 20, 15, 10, 95, 20, 5, 40, 30, 100, 100, 60, 30, 0},   /* readers */
    {8, 1, 20, 40, 15, 95, 90, 5, 40, 30, 60, 100, 100, 30, 0},   /* readers of many groups */
    {5, 1, 20, 10, 60, 95, 3, 5, 10, 60, 60, 60, 150, 10, 0},     /* upgrades */
    {3, 1, 30, 5, 50, 97, 0, 0, 5, 80, 200, 60, 220, 10, 0},      /* upgrades, and much between */
    {4, 1, 20, 0, 40, 99, 0, 0, 5, 90, 400, 60, 200, 0, 0},       /* the same, sent twice */
    {4, 1, 20, 15, 60, 95, 3, 30, 80, 20, 100, 80, 100, 30, 0},   /* upgrades that run out */
    {6, 1, 40, 40, 40, 95, 30, 60, 60, 30, 100, 100, 80, 30, 0},  /* a family */
    {4, 1, 50, 30, 50, 95, 50, 80, 20, 40, 60, 80, 90, 30, 0},    /* a close one, of many groups */
    {6, 2, 20, 50, 40, 90, 15, 5, 500, 2, 60, 60, 40, 30, 0},     /* leases run out */
    {7, 1, 20, 50, 40, 95, 15, 10, 250, 20, 60, 250, 60, 30, 0},  /* leases nearly run out */
    {4, 1, 50, 50, 40, 90, 15, 10, 40, 30, 500, 100, 80, 50, 0},  /* everything is sent twice */
    {3, 3, 60, 50, 30, 60, 15, 10, 60, 30, 100, 100, 120, 50, 0}, /* few handles, several locks */
    {2, 1, 50, 50, 50, 80, 10, 10, 40, 30, 100, 60, 100, 50, 0},  /* two of them */
    {2, 1, 75, 40, 50, 95, 60, 90, 20, 60, 100, 60, 60, 30, 0},   /* two of one family */
    {8, 3, 20, 40, 30, 90, 25, 5, 60, 20, 100, 400, 60, 30, 0},   /* much is renewed, many locks */
    {6, 1, 20, 60, 40, 90, 20, 20, 60, 30, 100, 100, 60, 900, 0}, /* an operator forces */
    {6, 1, 20, 50, 20, 97, 10, 10, 80, 95, 60, 30, 200, 20, 0},   /* grants are missed */
    {4, 1, 40, 80, 20, 97, 10, 60, 80, 95, 60, 30, 200, 20, 0},   /* and so are those of a family */
    {24, 1, 0, 35, 20, 99, 20, 5, 10, 90, 60, 150, 150, 20, 0},   /* a throng */
    {24, 1, 0, 4, 5, 99, 8, 5, 10, 95, 60, 150, 40, 20, 0},       /* a throng of readers */
    {6, 1, 0, 100, 0, 98, 0, 0, 30, 60, 60, 100, 200, 0, 98},     /* a mutex */
    {8, 1, 0, 99, 0, 97, 20, 0, 20, 90, 60, 150, 150, 0, 95},     /* one that is disturbed */
    {4, 1, 0, 100, 0, 98, 0, 0, 400, 20, 60, 100, 100, 0, 97},    /* one whose leases run out */
    {5, 1, 0, 100, 0, 98, 0, 0, 60, 25, 60, 500, 60, 0, 98},      /* one that is held for long */
    {24, 1, 0, 100, 0, 99, 0, 0, 15, 80, 60, 100, 400, 0, 98},    /* one with a throng before it */
};

void mood_draw(mood *drawn, random_source *random) {
    drawn->kind = &kinds[random_below(random, sizeof kinds / sizeof *kinds)];
    drawn->first_handle = (int)random_below(random, CAST_REGULARS);
    drawn->policy = (lkc_policy)random_below(random, LKC_PREFER_READER + 1);
    drawn->steps = random_between(random, STEPS_LEAST, STEPS_MOST);
}

int mood_handle(const mood *present, int last, random_source *random) {
    if (random_percent(random, present->kind->streak))
        return last;
    int acting = (int)random_below(random, present->kind->handles);
    if (present->kind->handles > CAST_REGULARS)
        return acting;
    return (present->first_handle + acting) % CAST_REGULARS;
}

lkc_policy mood_policy(const mood *present, random_source *random) {
    if (random_percent(random, STRAY_POLICY))
        return (lkc_policy)random_below(random, LKC_PREFER_READER + 1);
    return present->policy;
}
