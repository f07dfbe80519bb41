// Drives redsync over go-redis. It does not renew: the driver calls Extend.
package main

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"latchkey.test/bench/peers/drive"
)

var about = drive.About{
	Name:    "redsync",
	Module:  "github.com/go-redsync/redsync/v4",
	URL:     "https://github.com/go-redsync/redsync",
	Setting: "retries after a random 50 to 250 ms, as by default; tries without bound",
}

type peer struct {
	sync  *redsync.Redsync
	place drive.Place
}

type lock struct{ *redsync.Mutex }

func open(p drive.Place) (drive.Peer, error) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket})
	return peer{redsync.New(goredis.NewPool(client)), p}, nil
}

func (p peer) New(id string) drive.Lock {
	return lock{p.sync.NewMutex(p.place.Prefix+":"+id,
		redsync.WithExpiry(p.place.Lease), redsync.WithTries(math.MaxInt))}
}

func (l lock) Lock(ctx context.Context, _ drive.Mode) error { return l.LockContext(ctx) }

func (l lock) Unlock() error {
	return lost(l.Mutex.Unlock())
}

func (l lock) Renew() error {
	return lost(l.Extend())
}

// lost tells a lock that is another's, or nobody's, from a server that did not answer.
func lost(ok bool, err error) error {
	if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) ||
		errors.Is(err, redsync.ErrLockAlreadyExpired) || (err == nil && !ok) {
		return drive.ErrLost
	}
	return err
}

func main() { drive.Main(about, open) }
