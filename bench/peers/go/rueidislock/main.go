// Drives rueidislock. It renews by itself, every half of a lease, and waits for the server's invalidations.
package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"latchkey.test/bench/peers/drive"
)

var about = drive.About{
	Name:    "rueidislock",
	Module:  "github.com/redis/rueidis",
	URL:     "https://github.com/redis/rueidis/tree/main/rueidislock",
	Setting: "client-side caching invalidations, as by default; KeyMajority 1 and NoLoopTracking as in its README; TryNextAfter raised to a lease",
}

type peer struct{ locker rueidislock.Locker }

type lock struct {
	peer
	id     string
	held   context.Context
	cancel context.CancelFunc
}

// open gives the prefix to the package, which puts the number of one of its keys between prefix and name.
//
// TryNextAfter bounds one attempt, 20 ms by default. With one key there is no next one to try, and without the
// loop nothing wakes an owner whose own attempt took longer: it waits for ever for a lock that is free. That
// is how its code reads; such waits were seen with one thread on a busy machine, and not with the bound raised.
func open(p drive.Place) (drive.Peer, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{p.Socket},
			DialCtxFn: func(ctx context.Context, at string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "unix", at)
			},
		},
		KeyPrefix:      p.Prefix,
		KeyValidity:    p.Lease,
		KeyMajority:    1,
		TryNextAfter:   p.Lease,
		NoLoopTracking: true,
	})
	return peer{locker}, err
}

func (p peer) New(id string) drive.Lock { return &lock{peer: p, id: id} }

func (l *lock) Lock(ctx context.Context, _ drive.Mode) (err error) {
	l.held, l.cancel, err = l.locker.WithContext(ctx, l.id)
	return err
}

func (l *lock) Unlock() error {
	l.cancel()
	return nil
}

func (l *lock) Lost() <-chan struct{} { return l.held.Done() }

func main() { drive.Main(about, open) }
