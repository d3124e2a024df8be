package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

const (
	bigSite   = "big"
	loads     = 20 // page loads per range
	atOnce    = 6  // concurrent requests of a browser
	yearDays  = 365
	pageLimit = 10

	filteredDays = 30 // days with raw events

	wantedMS         = 150
	wantedFilteredMS = 300
)

// dashboard measures the statistics page of a site with a year of events.
func (b *bench) dashboard(ctx context.Context, _ string) ([]workbench.Result, error) {
	dir := filepath.Join(b.o.Filled, fmt.Sprintf("dashboard-%d-%d", b.o.Events, b.o.Pages))
	if err := b.filled(ctx, dir); err != nil {
		return nil, err
	}
	p, err := b.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	results, err := b.loadPages(ctx, p)
	return results, errors.Join(err, p.Stop())
}

// filled creates the site, unless an earlier run has left it.
func (b *bench) filled(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unfinished := dir + "-unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := b.fillYear(ctx, unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// fillYear creates the site with a year of events up to now.
func (b *bench) fillYear(ctx context.Context, dir string) error {
	b.o.Progress(fmt.Sprintf("filling a site with a year of %d events, %d pages", b.o.Events, b.o.Pages))
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return err
	}
	err = addSite(ctx, s, bigSite)
	if err == nil {
		now := time.Now()
		err = s.Folding(ctx, func(ctx context.Context) error {
			if err := fill(ctx, s, bigSite, b.o.Events, b.o.Pages, fillBatch, now.AddDate(0, 0, -yearDays), now, ctx.Err); err != nil {
				return err
			}
			return s.Worker.Drain(ctx)
		})
		if err == nil {
			_, err = reconcile.RollUp(ctx, s.Table, bigSite, now)
		}
	}
	return errors.Join(err, s.DB.Close())
}

// span is a range of days on the page. The last day is so many days ago.
type span struct{ days, ago int }

// pageRequests returns the requests of the page for a range of days, with a filter if it is not
// empty.
func pageRequests(s span, filter string) []string {
	last := time.Now().UTC().AddDate(0, 0, -s.ago)
	q := url.Values{"from": {last.AddDate(0, 0, 1-s.days).Format(time.DateOnly)}, "to": {last.Format(time.DateOnly)}}
	goals := "/goals/report?" + q.Encode() // goals take no filters
	if filter != "" {
		q.Set("filter", filter)
	}
	site := "/api/v1/sites/" + bigSite
	period := "day"
	switch {
	case s.days <= 2:
		period = "hour"
	case s.days > 180:
		period = "month"
	}
	compare := "compare=previous&"
	if filter != "" {
		compare = "" // comparing would need expired raw events of the days before
	}
	paths := []string{site + "/stats?" + compare + "period=" + period + "&" + q.Encode(), site + "/realtime", site + goals}
	for _, by := range []analytics.Dimension{analytics.BySource, analytics.ByPage, analytics.ByCountry, analytics.ByBrowser, analytics.ByGoal, analytics.ByEventName} {
		paths = append(paths, fmt.Sprintf("%s/breakdown?by=%s&limit=%d&%s", site, by, pageLimit, q.Encode()))
	}
	return paths
}

func (b *bench) loadPages(ctx context.Context, p *workbench.Process) ([]workbench.Result, error) {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	var results []workbench.Result
	load := func(name string, n int, goal float64, page func(i int) []string) error {
		two, err := loadOften(ctx, client, p, n, page)
		two[0].Name, two[0].Goal, two[1].Name = name+two[0].Name, goal, name+two[1].Name
		results = append(results, two[:]...)
		return err
	}
	for _, days := range []int{1, 7, 30, 90, yearDays} {
		name := strings.Replace(fmt.Sprintf("dashboard of %d days", days), " 1 days", " one day", 1)
		if err := load(name, loads, wantedMS, func(int) []string { return pageRequests(span{days, 0}, "") }); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	err := load("dashboard of random days of the year", 2*loads, wantedMS, func(int) []string {
		days := 1 + random.IntN(yearDays)
		return pageRequests(span{days, random.IntN(yearDays - days + 1)}, "")
	})
	if err != nil {
		return nil, err
	}
	of := fmt.Sprintf("the same of %d days with a filter, about %d events", filteredDays, b.o.Events/yearDays*filteredDays)
	if err := load(of+", first", 1, 0, func(int) []string { return pageRequests(span{filteredDays, 0}, "country:is:DE") }); err != nil {
		return nil, err
	}
	return results, load(of+", then others", loads, wantedFilteredMS, func(i int) []string {
		return pageRequests(span{filteredDays, 0}, []string{"page:contains:", "page:is_not:/", "browser:is:Chrome|", "country:is_not:D"}[i%4]+strconv.Itoa(i))
	})
}

// loadOften loads pages one after another. It returns the duration and the server's CPU time of
// each load; the latter depends less on other load of the machine.
func loadOften(ctx context.Context, client *http.Client, p *workbench.Process, n int, page func(i int) []string) (two [2]workbench.Result, err error) {
	before, err := p.CPUSeconds()
	var took []float64
	for i := 0; i < n && err == nil; i++ {
		var ms float64
		ms, err = loadPage(ctx, client, p, page(i))
		took = append(took, ms)
	}
	if err != nil {
		return two, err
	}
	after, err := p.CPUSeconds()
	if err != nil {
		return two, err
	}
	two[0] = workbench.Result{Name: ", p95", Unit: "ms", Value: workbench.Percentile(took, 95), Most: true}
	if n == 1 {
		two[0].Name = ""
	}
	two[1] = workbench.Result{Name: ", CPU time of the server", Unit: "ms", Value: (after - before) * 1000 / float64(n)}
	return two, nil
}

// loadPage sends the requests of a page like a browser, and returns the total time.
func loadPage(ctx context.Context, client *http.Client, p *workbench.Process, paths []string) (ms float64, err error) {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, path := range paths {
		group.Go(func() error { return errors.Join(ctx.Err(), workbench.Get(client, p.Address, path, nil)) })
	}
	err = group.Wait()
	return float64(time.Since(began).Microseconds()) / 1000, err
}
