'use strict';
// The contract of bench/peers/README.md for locks written in JavaScript: driver.js PEER SOCKET LEASE_MS LOCK
// VERB [WORD…], or driver.js PEER about. A peer is a module with about() and connect(SOCKET, LEASE_MS), which
// gives owner(NAME), with lock(), unlock(), held(), and, where renewMs is given, renew() to be called that
// often. A thread is a promise. None of these peers has a read lock.

const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const { nowMs, pairsObject, wallUs } = require('./figures.js');

const WARM_SECONDS = 0.5;
const WRITE = 1;

const say = (text) => new Promise((resolve) => { process.stdout.write(`${text}\n`, resolve); });

const print = (object) => say(JSON.stringify(object));

const readyAndWait = async () => {
    await say('ready');
    for await (const line of readline.createInterface({ input: process.stdin })) {
        return line;
    }
    throw new Error('no line on stdin');
};

const each = (count, make) => Array.from({ length: count }, (_, i) => make(i));

const needsReads = (verb, words) => verb === 'readers'
    || (verb === 'pairs' && words[0] === 'read')
    || (verb === 'contend' && Number(words[2]) > 0);

// Owner i locks and unlocks its lock.
const runPairs = async (owners, seconds) => {
    const start = nowMs();
    const end = start + seconds * 1000;
    const spans = [];
    await Promise.all(owners.map(async (owner) => {
        for (let before = nowMs(); before < end;) {
            await owner.lock();
            await owner.unlock();
            const after = nowMs();
            spans.push(after - before);
            before = after;
        }
    }));
    return pairsObject(spans, (nowMs() - start) / 1000);
};

// Node's timers count whole milliseconds from the beginning of the loop's turn, and so may fire early: what is
// left is slept again.
const hold = async (us) => {
    const end = nowMs() + us / 1000;
    for (let left = us / 1000; left > 0; left = end - nowMs()) {
        await sleep(Math.ceil(left));
    }
};

const runContend = async (owners, holdUs, seconds) => {
    const end = nowMs() + seconds * 1000;
    const grants = [];
    const all = Promise.all(owners.map(async (owner, thread) => {
        for (let asked = nowMs(); asked < end; asked = nowMs()) {
            await owner.lock();
            const got = nowMs();
            if (got < end) {
                grants.push([wallUs(), thread, Math.round((got - asked) * 1000), WRITE]);
            }
            if (holdUs > 0) {
                await hold(holdUs);
            }
            await owner.unlock();
        }
    }));
    await Promise.race([all, sleep(2 * seconds * 1000)]);
    return { seconds, grants };
};

const keepRenewing = (peer, owners) => {
    if (peer.renewMs) {
        // A renewal that fails is seen by held() at the end.
        setInterval(() => owners.forEach((owner) => owner.renew().catch(() => {})), peer.renewMs);
    }
};

const verbs = {
    async pairs(peer, name, [, threads, seconds]) {
        const owners = each(Number(threads), (i) => peer.owner(name(i)));
        await readyAndWait();
        await print(await runPairs(owners, Number(seconds)));
    },

    async contend(peer, name, [threads, holdUs, , seconds]) {
        const owners = each(Number(threads), () => peer.owner(name(0)));
        await readyAndWait();
        await print(await runContend(owners, Number(holdUs), Number(seconds)));
    },

    async hold(peer, name, [count, seconds]) {
        const owners = each(Number(count), (i) => peer.owner(name(i)));
        await Promise.all(owners.map((owner) => owner.lock()));
        keepRenewing(peer, owners);
        await readyAndWait();
        await sleep(Number(seconds) * 1000);
        const held = await Promise.all(owners.map((owner) => owner.held()));
        const kept = owners.filter((_, i) => held[i]);
        await print({ held: kept.length, lost: owners.length - kept.length });
        await Promise.all(kept.map((owner) => owner.unlock()));
    },

    async keep(peer, name) {
        const owner = peer.owner(name(0));
        await owner.lock();
        keepRenewing(peer, [owner]);
        await say('ready');
        await new Promise(() => {});
    },

    async await(peer, name) {
        const owner = peer.owner(name(0));
        await say('ready');
        await owner.lock();
        const at = wallUs();
        await owner.unlock();
        await print({ at });
    },
};

const main = async ([peerPath, socket, leaseMs, prefix, verb, ...words]) => {
    const module = require(peerPath);
    if (socket === 'about') {
        return print(module.about());
    }
    if (needsReads(verb, words)) {
        return say('unsupported');
    }
    if (!verbs[verb]) {
        throw new Error(`no such verb: ${verb}`);
    }
    const peer = await module.connect(socket, Number(leaseMs));
    // Each process has a name of its own to warm up on, so that none waits for another.
    await runPairs([peer.owner(`${prefix}:warm:${process.pid}`)], WARM_SECONDS);
    return verbs[verb](peer, (number) => `${prefix}:${number}`, words);
};

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});
