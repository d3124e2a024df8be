package dynamohttp

import "sync/atomic"

// load is what all current requests hold. Requests beyond the limits are rejected at once, and
// every SDK retries them a little later; a queue would need the memory that is missing.
//
// Bytes are counted as they arrive, not as announced. Otherwise a few idle connections could block
// everyone. The values decoded from bodies take several times their size.
type load struct {
	maxRequests, maxBytes int64 // negative: unlimited
	requests, bytes       atomic.Int64
}

// held is what one request holds of a load.
type held struct {
	load    *load
	entered bool
	bytes   int64
}

// enter counts a request, or returns errBusy if there are too many. The caller must call leave in
// both cases.
func (l *load) enter() (held, error) {
	if n := l.requests.Add(1); l.maxRequests >= 0 && n > l.maxRequests {
		l.requests.Add(-1)
		return held{load: l}, errBusy()
	}
	return held{load: l, entered: true}, nil
}

// take counts bytes that have arrived, or returns errBusy if there are too many.
func (h *held) take(n int) error {
	if h.add(n); h.load.maxBytes >= 0 && h.load.bytes.Load() > h.load.maxBytes {
		return errBusy()
	}
	return nil
}

// add counts bytes regardless of the limit: a response is sent once it exists.
func (h *held) add(n int) {
	h.bytes += int64(n)
	h.load.bytes.Add(int64(n))
}

// leave releases what the request holds.
func (h *held) leave() {
	h.load.bytes.Add(-h.bytes)
	if h.entered {
		h.load.requests.Add(-1)
	}
}
