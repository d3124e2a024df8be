package resilient

import "sync"

// budget bounds how much more is sent to a store in trouble than callers ask for: a repeat costs a token's price, and a
// request that succeeds at once earns one token. When it is empty, nothing is sent again.
type budget struct {
	mu          sync.Mutex
	most, holds int
}

const repeatPrice = 5

func newBudget(repeats int) *budget {
	return &budget{most: repeats * repeatPrice, holds: repeats * repeatPrice}
}

// spend pays for a repeat, if it can.
func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds < repeatPrice {
		return false
	}
	b.holds -= repeatPrice
	return true
}

func (b *budget) earn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = min(b.holds+1, b.most)
}

// left is how many repeats it can pay for.
func (b *budget) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.holds / repeatPrice
}
