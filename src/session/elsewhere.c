/* What error replies mean, and commands that go to another server. See server.h. */
#include "base/clock.h"
#include "base/memory.h"
#include "net/fault.h"
#include "net/resp.h"
#include "session/session.h"

enum { BOUNCE_MS = 50 };

/*
 * Two servers that name each other would send a command to and fro without end. So the second
 * redirect is not followed at once. Other slots may move the other way at the same time, and do not
 * count.
 */
static bool is_bounced(lki_server *server, const lki_server *to, unsigned slot) {
    int64_t now_us = lki_now_us();
    size_t at = slot % LKI_REDIRECTED_MOST;
    const lki_redirected *back = &to->redirected[at];
    server->redirected[at] = (lki_redirected){to, slot, now_us};
    return back->to == server && back->slot == slot &&
           now_us < lki_after_ms(back->when_us, BOUNCE_MS);
}

/*
 * Asks the topology for the server that MOVED or ASK names. ASK for several keys is not followed:
 * some of them may still be here, and the other server would take their locks for free ones.
 */
static bool follow(lki_server *server, lki_sent sent, const char *error_reply, lki_refusal *refusal,
                   lki_elsewhere *elsewhere) {
    lki_topology *topology = server->session->topology;
    lki_redirect redirect;
    lki_error error;
    size_t index;
    if (!lki_topology_is_sharded(topology) || !lki_redirect_read(error_reply, &redirect))
        return false;
    *refusal = (lki_refusal){.kind = LKI_REFUSED_LATER,
                             .status = LK_UNAVAILABLE,
                             .advice = "the cluster is moving the keys of this lock",
                             .is_split = redirect.is_ask && sent.keys > 1};
    if (refusal->is_split)
        return true;
    if (topology->methods->redirect(topology, server->index, &redirect, &index) != LK_OK)
        return true;
    lki_session_pass_floors(server->session);
    lki_server *to = lki_session_server_at(server->session, index, &error);
    if (!to || is_bounced(server, to, redirect.slot))
        return true;
    *elsewhere = (lki_elsewhere){to, redirect.is_ask};
    refusal->kind = LKI_REFUSED_RESEND;
    return true;
}

lki_refusal lki_server_refused(lki_server *server, lki_sent sent, const char *error_reply,
                               lki_elsewhere *elsewhere) {
    lki_refusal refusal;
    *elsewhere = (lki_elsewhere){0};
    if (follow(server, sent, error_reply, &refusal, elsewhere))
        return refusal;
    refusal = lki_form_refused(&server->form, sent, error_reply);
    refusal.is_split = lki_fault_is_split(error_reply) && sent.keys > 1;
    if (refusal.status == LK_UNAVAILABLE)
        lki_server_suspect(server);
    if (!lki_fault_is_replica(error_reply) || !server->session->topology->methods->watch)
        return refusal;
    refusal.kind = LKI_REFUSED_LATER;
    refusal.advice = "the master has changed";
    lki_server_moved(server, "");
    return refusal;
}

static void asking_answered(lki_request *request, const redisReply *reply) {
    (void)reply;
    lki_free(request);
}

bool lki_server_asking(lki_server *server) {
    lki_link *link = &server->commands.link;
    lki_request *request = lki_new(sizeof *request);
    if (!request)
        return false;
    lki_bytes *out = lki_link_begin(link);
    lki_resp_command(out, 1);
    lki_resp_text(out, "ASKING");
    request->complete = asking_answered;
    if (lki_link_commit(link, request, lki_now_us()) == LK_OK)
        return true;
    lki_free(request);
    return false;
}
