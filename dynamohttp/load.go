package dynamohttp

import "sync/atomic"

// load is what requests hold at once. Who asks for more than there is room for is answered at once that there is none,
// which every SDK takes as a reason to ask again a little later; a queue would hold what it has no room for.
//
// Bytes are counted as they arrive, not as they are announced: otherwise few connections that send nothing could keep
// everybody out. Values that bodies are decoded to take several times their bytes.
type load struct {
	maxRequests, maxBytes int64 // negative: no bound
	requests, bytes       atomic.Int64
}

// held is what one request holds of a load.
type held struct {
	load    *load
	entered bool
	bytes   int64
}

// enter counts a request in, or says that there are too many. leave is due either way.
func (l *load) enter() (held, error) {
	if n := l.requests.Add(1); l.maxRequests >= 0 && n > l.maxRequests {
		l.requests.Add(-1)
		return held{load: l}, errBusy()
	}
	return held{load: l, entered: true}, nil
}

// take counts bytes in that have arrived, or says that they are too many.
func (h *held) take(n int) error {
	if h.add(n); h.load.maxBytes >= 0 && h.load.bytes.Load() > h.load.maxBytes {
		return errBusy()
	}
	return nil
}

// add counts bytes in that are there whether there is room or not: an answer is given once it is made.
func (h *held) add(n int) {
	h.bytes += int64(n)
	h.load.bytes.Add(int64(n))
}

// leave gives back what the request holds.
func (h *held) leave() {
	h.load.bytes.Add(-h.bytes)
	if h.entered {
		h.load.requests.Add(-1)
	}
}
