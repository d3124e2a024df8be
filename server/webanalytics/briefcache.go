package webanalytics

import (
	"sync"
	"time"
)

// maxMoments is the maximum number of sites in the cache. When it is exceeded, the cache is
// cleared.
const maxMoments = 200

// briefCache caches the last result per site for a short time. While one caller computes a result,
// others who ask for the same site wait for it, so that many concurrent requests cost one
// computation. The zero value is an empty cache.
type briefCache[T any] struct {
	mu    sync.Mutex // guards sites, but not its entries
	sites map[string]*briefEntry[T]
}

type briefEntry[T any] struct {
	mu     sync.Mutex // held while the result is computed
	at     time.Time
	answer T
}

// get returns the cached result for a site if it is younger than fresh, otherwise a new one. Errors
// are not cached.
func (m *briefCache[T]) get(site string, now time.Time, fresh time.Duration, answer func() (T, error)) (T, error) {
	of := m.of(site)
	of.mu.Lock()
	defer of.mu.Unlock()
	if !of.at.IsZero() && now.Sub(of.at) < fresh {
		return of.answer, nil
	}
	made, err := answer()
	if err == nil {
		of.at, of.answer = now, made
	}
	return made, err
}

func (m *briefCache[T]) of(site string) *briefEntry[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.sites[site]
	if of == nil {
		if len(m.sites) >= maxMoments || m.sites == nil {
			m.sites = map[string]*briefEntry[T]{}
		}
		of = &briefEntry[T]{}
		m.sites[site] = of
	}
	return of
}
