package resilient

import "sync"

// budget limits retries, so that they do not multiply the load on a store in trouble. A retry costs
// repeatPrice tokens; a request that succeeds at once earns one token. Without tokens, nothing is
// retried.
type budget struct {
	mu          sync.Mutex
	most, holds int
}

const repeatPrice = 5

func newBudget(repeats int) *budget {
	return &budget{most: repeats * repeatPrice, holds: repeats * repeatPrice}
}

// spend pays for a retry, if possible.
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

// left returns the number of retries that the budget can pay for.
func (b *budget) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.holds / repeatPrice
}
