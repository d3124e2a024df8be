package engine_test

import (
	"maps"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
)

// TestIndexDelay compares global indexes with the items as they were a while ago, and local indexes
// with the current items. After the database is reopened, it compares all indexes with the current
// items.
func TestIndexDelay(t *testing.T) {
	const delay, round = 3 * time.Second, time.Second
	c, dir := newClock(), t.TempDir()
	o := engine.Options{Clock: c.now, IndexDelay: delay, NoSync: true, TTLInterval: -1}
	db := must[*engine.DB](t)(engine.Open(dir, o))
	m := newModel(t, db, uint64(time.Now().UnixNano()))
	history := []map[string]item{{}}
	seen := func(back int) map[string]item { return history[max(0, len(history)-1-back)] }
	for range 3 {
		for range 12 {
			for range 20 {
				m.step()
			}
			history = append(history, maps.Clone(m.items))
			for _, x := range modelIndexes {
				if x.name == "lsi1" {
					x.check(m, m.items)
				} else {
					x.check(m, seen(int(delay/round)))
				}
			}
			c.add(round)
		}
		m.must(m.db.Close())
		m.db = must[*engine.DB](t)(engine.Open(dir, o))
		m.check()
		for i := range history {
			history[i] = maps.Clone(m.items)
		}
	}
	m.must(m.db.Close())
}
