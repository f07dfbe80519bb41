'use strict';
// redis-semaphore's Mutex: how it is configured, and one owner of one lock. It knows nothing of what
// is measured.

const { createRequire } = require('node:module');
const path = require('node:path');

const built = createRequire(path.join(__dirname, '.build', 'package.json'));

exports.about = () => ({
    name: 'redis-semaphore',
    version: built('redis-semaphore/package.json').version,
    url: 'https://github.com/swarthy/redis-semaphore',
    reads: false,
    setting: 'Mutex; tries again after 10 ms; refreshes itself at 0.8 of the lease; ioredis '
        + built('ioredis/package.json').version,
});

exports.connect = async (socket, leaseMs) => {
    const { Redis } = built('ioredis');
    const { Mutex } = built('redis-semaphore');
    const client = new Redis(socket);
    await client.ping();

    class Owner {
        constructor(name) {
            // The name that the package's documentation gives for the key.
            this.key = `mutex:${name}`;
            this.lost = false;
            this.mutex = new Mutex(client, name, {
                lockTimeout: leaseMs,
                acquireTimeout: Number.POSITIVE_INFINITY,
                // The default throws out of a timer, and would end `hold` before it has counted.
                onLockLost: () => { this.lost = true; },
            });
        }

        lock() {
            return this.mutex.acquire();
        }

        unlock() {
            if (this.lost) {
                throw new Error(`${this.key} was lost`);
            }
            return this.mutex.release();
        }

        async held() {
            return this.mutex.isAcquired && await client.get(this.key) === this.mutex.identifier;
        }
    }

    return { owner: (name) => new Owner(name) };
};
