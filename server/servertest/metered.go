package servertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server"
)

// Metered is a server that meters its table, with a clock that the test controls. It has a site,
// "shop", on one partition.
type Metered struct {
	*Server
	DB *enginetest.DB

	mu   sync.Mutex
	uses []heat.Use
}

// NewMetered runs a server until the test ends. Its clock begins at start.
func NewMetered(t *testing.T, start time.Time) *Metered {
	t.Helper()
	m := &Metered{DB: enginetest.New(t, enginetest.At(start))}
	m.Server = On(t, m.DB, func(o *server.Options) { o.Capacity.Schema, o.Capacity.Uses = Schema, m.since })
	_, err := analytics.CreateSite(t.Context(), m.Table, analytics.NewSite{ID: "shop", Shards: 1})
	Must(t, err)
	return m
}

func (m *Metered) since(at time.Time) []heat.Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.uses), func(u heat.Use) bool { return u.At.Before(at) })
}

// Minutes advances the clock, and meters each minute.
func (m *Metered) Minutes(n int) {
	for range n {
		m.DB.Advance(time.Minute)
		m.mu.Lock()
		for _, k := range m.DB.Metered().Tables["onefold"].Hottest {
			m.uses = append(m.uses, heat.Use{At: m.DB.Now(), Key: k.Key, Index: k.Index, PeakReads: k.PeakReads, PeakWrites: k.PeakWrites})
		}
		m.mu.Unlock()
	}
}

// Rush sends events to the shop within one second, by one hundred visitors and each in a request of
// its own, and advances the clock by a minute.
func (m *Metered) Rush(events int) error {
	for i := range events {
		hit := analytics.Hit{Path: "/", UserAgent: Firefox, Address: fmt.Sprintf("192.0.2.%d", i%100)}
		if _, err := m.Collector.Ingest(m.Context(), "shop", []analytics.Hit{hit}); err != nil {
			return err
		}
	}
	m.Minutes(1)
	return nil
}
