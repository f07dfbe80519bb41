// Drives the Go client of mmdalix/redis-rwlock. Its watchdog renews every third of a lease. Written from its
// documentation. The module proxy refused it, so no stored result has it. Its keys begin with its own prefix,
// not with ours.
package main

import (
	"context"
	"errors"

	rwlock "github.com/mmdalix/redis-rwlock/clients/go"
	"github.com/redis/go-redis/v9"
	"latchkey.test/bench/peers/drive"
)

var about = drive.About{
	Name:    "mmdalix/redis-rwlock",
	Module:  "github.com/mmdalix/redis-rwlock/clients/go",
	URL:     "https://github.com/mmdalix/redis-rwlock",
	Reads:   true,
	Setting: "queued, woken by a list (BLPOP), write-preferring, as by default; watchdog on; a blocking connection for each waiter",
}

// waiters is more than any run has: with the default of 16 connections to block on, others wait for one of
// them, and fail when they do so for too long.
const waiters = 1100

type peer struct {
	rw    *rwlock.RwLock
	place drive.Place
}

type lock struct {
	peer
	name string
	held *rwlock.Handle
}

func open(p drive.Place) (drive.Peer, error) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket})
	return peer{rwlock.New(client, rwlock.WithBlockingPoolSize(waiters)), p}, nil
}

func (p peer) New(id string) drive.Lock { return &lock{peer: p, name: p.place.Prefix + ":" + id} }

// Lock asks again when the package's own limit of a wait has passed.
func (l *lock) Lock(ctx context.Context, mode drive.Mode) (err error) {
	acquire := l.rw.AcquireWrite
	if mode == drive.Read {
		acquire = l.rw.AcquireRead
	}
	for {
		l.held, err = acquire(ctx, l.name, rwlock.Lease(l.place.Lease), rwlock.Watchdog())
		if !errors.Is(err, rwlock.ErrWaitTimeout) {
			return err
		}
	}
}

func (l *lock) Unlock() error { return l.held.Release(context.Background()) }

func (l *lock) Lost() <-chan struct{} { return l.held.Context().Done() }

func main() { drive.Main(about, open) }
