// Drives bsm/redislock over go-redis. It does not renew: the driver calls Refresh.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"latchkey.test/bench/peers/drive"
)

var about = drive.About{
	Name:    "redislock",
	Module:  "github.com/bsm/redislock",
	URL:     "https://github.com/bsm/redislock",
	Setting: "LinearBackoff of 100 ms, as in its example of waiting (by default it does not wait); retries without bound",
}

const retryEvery = 100 * time.Millisecond

type peer struct {
	client *redislock.Client
	place  drive.Place
}

type lock struct {
	peer
	key  string
	held *redislock.Lock
}

func open(p drive.Place) (drive.Peer, error) {
	return peer{redislock.New(redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket})), p}, nil
}

func (p peer) New(id string) drive.Lock { return &lock{peer: p, key: p.place.Prefix + ":" + id} }

// Lock sets a deadline far away, for without one the package gives up after a lease.
func (l *lock) Lock(ctx context.Context, _ drive.Mode) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 24*time.Hour)
	defer cancel()
	l.held, err = l.client.Obtain(ctx, l.key, l.place.Lease, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(retryEvery),
	})
	return err
}

func (l *lock) Unlock() error {
	err := l.held.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return drive.ErrLost
	}
	return err
}

func (l *lock) Renew() error {
	err := l.held.Refresh(context.Background(), l.place.Lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return drive.ErrLost
	}
	return err
}

func main() { drive.Main(about, open) }
