package latchkey.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.TransportMode;

/**
 * The two contestants: how each is configured, and which of Redisson's locks it takes. It knows nothing of
 * what is measured.
 */
final class Peer {
    private final RedissonClient client;
    private final boolean fair;

    private Peer(RedissonClient client, boolean fair) {
        this.client = client;
        this.fair = fair;
    }

    static boolean isFair(String name) {
        return switch (name) {
            case "redisson-fair" -> true;
            case "redisson-rw" -> false;
            default -> throw new IllegalArgumentException("no such contestant: " + name);
        };
    }

    static String about(String name) {
        boolean fair = isFair(name);
        String setting = fair
                ? "getFairLock; a queue in Redis, told by pub/sub, a channel for each waiter; watchdog renews"
                : "RReadWriteLock; waits for pub/sub, then tries again; watchdog renews";
        return "{\"name\": \"" + name + "\", \"version\": \""
                + Redisson.class.getPackage().getImplementationVersion()
                + "\", \"url\": \"https://github.com/redisson/redisson\", \"reads\": " + !fair
                + ", \"setting\": \"" + setting + "; Unix socket by epoll\"}";
    }

    /**
     * All is Redisson's default but the lease, the transport (a Unix socket needs epoll) and the bound on
     * subscriptions: a fair lock subscribes to a channel for each waiter, and the default bound of 50
     * connections with 5 channels each fails the 251st.
     */
    static Peer connect(String name, String socket, long leaseMs, int waiters) {
        Config config = new Config();
        config.setTransportMode(TransportMode.EPOLL);
        config.setLockWatchdogTimeout(leaseMs);
        var server = config.useSingleServer().setAddress("redis+uds://" + socket);
        int needed = waiters / server.getSubscriptionsPerConnection() + 1;
        if (isFair(name) && needed > server.getSubscriptionConnectionPoolSize()) {
            server.setSubscriptionConnectionPoolSize(needed);
        }
        return new Peer(Redisson.create(config), isFair(name));
    }

    /** Asks for as much at the same time as so many threads will, which makes the pool open its connections. */
    void openConnections(String name, int threads) throws Exception {
        List<RFuture<Boolean>> asked = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            asked.add(write(name).isLockedAsync());
        }
        for (RFuture<Boolean> one : asked) {
            one.toCompletableFuture().get();
        }
    }

    void close() {
        client.shutdown(0, 1, TimeUnit.SECONDS);
    }

    RLock write(String name) {
        return fair ? client.getFairLock(name) : client.getReadWriteLock(name).writeLock();
    }

    RLock read(String name) {
        return client.getReadWriteLock(name).readLock();
    }
}
