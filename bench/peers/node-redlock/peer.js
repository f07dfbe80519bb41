'use strict';
// node-redlock: how it is configured, and one owner of one lock. It knows nothing of what is measured.

const { createRequire } = require('node:module');
const path = require('node:path');

const built = createRequire(path.join(__dirname, '.build', 'package.json'));

// Locking tries without end. Not so the object's own retryCount: it counts for extend() too, and an extend()
// of a lock that is lost would never come back.
const WITHOUT_END = { retryCount: -1 };

exports.about = () => ({
    name: 'node-redlock',
    version: built('redlock/package.json').version,
    url: 'https://github.com/mike-marcacci/node-redlock',
    reads: false,
    setting: 'one server; tries again after 200 ms ± 100 ms; ioredis ' + built('ioredis/package.json').version,
});

exports.connect = async (socket, leaseMs) => {
    const Redis = built('ioredis');
    const Redlock = built('redlock');
    const client = new Redis(socket);
    const redlock = new Redlock([client]);
    redlock.on('clientError', (error) => { throw error; });
    await client.ping();

    class Owner {
        constructor(name) {
            this.name = name;
            this.got = null;
        }

        async lock() {
            this.got = await redlock.lockWithOptions(this.name, leaseMs, WITHOUT_END);
        }

        unlock() {
            return this.got.unlock();
        }

        renew() {
            return this.got.extend(leaseMs);
        }

        // An extension is the package's way to ask.
        held() {
            return this.renew().then(() => true, () => false);
        }
    }

    return { owner: (name) => new Owner(name), renewMs: leaseMs / 3 };
};
