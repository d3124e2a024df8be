package webanalytics

import (
	"sync"
	"time"
)

// maxMoments bounds how many sites' answers are kept. When there are more, all are forgotten.
const maxMoments = 200

// moments keeps the last answer for each site for a while. While one caller makes an answer, others who ask for the same site
// wait for it, so that many who ask cost one answer. The zero value keeps nothing yet.
type moments[T any] struct {
	mu    sync.Mutex
	sites map[string]*moment[T]
}

type moment[T any] struct {
	mu     sync.Mutex // held while the answer is made
	at     time.Time
	answer T
}

// get returns the answer for a site that is younger than fresh, or a new one. Errors are not kept.
func (m *moments[T]) get(site string, now time.Time, fresh time.Duration, answer func() (T, error)) (T, error) {
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

func (m *moments[T]) of(site string) *moment[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.sites[site]
	if of == nil {
		if len(m.sites) >= maxMoments || m.sites == nil {
			m.sites = map[string]*moment[T]{}
		}
		of = &moment[T]{}
		m.sites[site] = of
	}
	return of
}
