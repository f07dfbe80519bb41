/* Faults of the network between a single server and every second client, made by a proxy. */
#include "draw.h"
#include "nemesis.h"

static proxy_kinds draw_kinds(attack *self) {
    return (proxy_kinds)(1 + draw(&self->seed, PROXY_ALL));
}

bool net_cut(attack *self) {
    proxy *net = site_proxy(self->servers);
    size_t request = (size_t)(1 + draw(&self->seed, 4));
    switch (draw(&self->seed, 3)) {
    case 0:
        proxy_cut_all(net, draw_kinds(self));
        break;
    case 1:
        proxy_cut_before_request(net, draw_kinds(self), request);
        break;
    default:
        proxy_cut_after_request(net, draw_kinds(self), request);
        break;
    }
    return true;
}

bool net_whole(attack *self) {
    proxy_cut_before_request(site_proxy(self->servers), PROXY_ALL, 0);
    proxy_cut_after_request(site_proxy(self->servers), PROXY_ALL, 0);
    return true;
}

/* Requests arrive and answers do not, or the other way round. */
bool net_half_open(attack *self) {
    proxy_pause(site_proxy(self->servers), draw_kinds(self),
                draw(&self->seed, 2) ? PROXY_TO_CLIENT : PROXY_TO_SERVER);
    return true;
}

bool net_silent(attack *self) {
    proxy_pause(site_proxy(self->servers), PROXY_ALL, PROXY_BOTH);
    return true;
}

/* The bytes on their way arrive late, or never. */
bool net_open(attack *self) {
    proxy *net = site_proxy(self->servers);
    if (draw(&self->seed, 3) == 0)
        proxy_cut_all(net, PROXY_ALL);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    return true;
}

bool net_slow(attack *self) {
    proxy *net = site_proxy(self->servers);
    if (draw(&self->seed, 3))
        proxy_delay(net, draw_kinds(self), (proxy_directions)(1 + draw(&self->seed, PROXY_BOTH)),
                    20 + draw(&self->seed, 200));
    else
        proxy_trickle(net, draw_kinds(self), 1 + draw(&self->seed, 5));
    return true;
}

bool net_fast(attack *self) {
    proxy_delay(site_proxy(self->servers), PROXY_ALL, PROXY_BOTH, 0);
    proxy_trickle(site_proxy(self->servers), PROXY_ALL, 0);
    return true;
}

bool net_refuse(attack *self) {
    proxy_refuse(site_proxy(self->servers), true);
    proxy_cut_all(site_proxy(self->servers), PROXY_ALL);
    return true;
}

bool net_accept(attack *self) {
    proxy_refuse(site_proxy(self->servers), false);
    return true;
}
