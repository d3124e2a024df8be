package dynamotest

import "time"

const (
	patience = 2 * time.Minute
	pause    = 5 * time.Millisecond
)

// eventually waits for something that an implementation does asynchronously.
func (f *fixture) eventually(what string, done func() bool) {
	f.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	give := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-give:
			f.Fatalf("gave up waiting: %s", what)
		}
	}
}
