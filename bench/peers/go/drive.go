package drive

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
)

// Main is a driver's main: it reads the words, opens the peer and does what the verb says.
func Main(about About, open func(Place) (Peer, error)) {
	if len(os.Args) == 2 && os.Args[1] == "about" {
		say(about.object())
		return
	}
	if len(os.Args) < 5 {
		fail(errors.New("usage: drive about | drive SOCKET LEASE_MS LOCK VERB [WORD…]"))
	}
	place := Place{
		Socket: os.Args[1],
		Prefix: os.Args[3],
		Lease:  duration(os.Args[2], time.Millisecond),
	}
	work, reads := parse(os.Args[4], os.Args[5:])
	if reads && !about.Reads {
		fmt.Println("unsupported")
		return
	}
	peer, err := open(place)
	must(err)
	say(work(run{peer, place.Lease}))
}

// parse turns a verb and its words into what is to be done, and whether that needs read locks.
func parse(verb string, words []string) (work func(run) any, reads bool) {
	counts := map[string]int{"pairs": 3, "contend": 4, "readers": 2, "hold": 2, "keep": 0, "await": 0}
	if n, known := counts[verb]; !known || n != len(words) {
		fail(fmt.Errorf("no verb %q with %d words", verb, len(words)))
	}
	switch verb {
	case "pairs":
		mode := map[string]Mode{"read": Read, "write": Write}
		m, known := mode[words[0]]
		if !known {
			fail(fmt.Errorf("no mode %q", words[0]))
		}
		threads, length := count(words[1]), duration(words[2], time.Second)
		return func(r run) any { return r.pairs(m, threads, length) }, m == Read
	case "contend":
		threads, hold := count(words[0]), duration(words[1], time.Microsecond)
		percent, length := number(words[2]), duration(words[3], time.Second)
		return func(r run) any { return r.contend(threads, hold, percent, length) }, percent > 0
	case "readers":
		n, length := count(words[0]), duration(words[1], time.Second)
		return func(r run) any { return r.readers(n, length) }, true
	case "hold":
		n, length := count(words[0]), duration(words[1], time.Second)
		return func(r run) any { return r.hold(n, length) }, false
	case "keep":
		return run.keep, false
	}
	return run.await, false
}

// ready tells that all is prepared, and returns when the work may begin.
func ready() {
	sayReady()
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fail(fmt.Errorf("no line on stdin: %w", err))
	}
}

func sayReady() { fmt.Println("ready") }

func say(object any) {
	line, err := json.Marshal(object)
	must(err)
	fmt.Println(string(line))
}

func (a About) object() any {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == a.Module {
				version = m.Version
			}
		}
	}
	return struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		URL     string `json:"url"`
		Reads   bool   `json:"reads"`
		Setting string `json:"setting"`
	}{a.Name, version, a.URL, a.Reads, a.Setting}
}

func number(word string) float64 {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || n < 0 {
		fail(fmt.Errorf("not a number: %q", word))
	}
	return n
}

func count(word string) int { return int(number(word)) }

func duration(word string, unit time.Duration) time.Duration {
	return time.Duration(number(word) * float64(unit))
}

func must(err error) {
	if err != nil {
		fail(err)
	}
}

func complain(err error) { fmt.Fprintln(os.Stderr, "drive:", err) }

func fail(err error) {
	complain(err)
	os.Exit(1)
}
