package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
)

const (
	bigSite   = "big"
	loads     = 20 // of the page, for each range
	atOnce    = 6  // requests that a browser has under way
	yearDays  = 365
	pageLimit = 10
)

// dashboard measures the page that shows statistics, for a site with a year of events.
func (b *bench) dashboard(ctx context.Context, _ string) ([]Result, error) {
	dir := filepath.Join(b.o.Filled, fmt.Sprintf("dashboard-%d-%d", b.o.Events, b.o.Pages))
	if err := b.filled(ctx, dir); err != nil {
		return nil, err
	}
	p, err := b.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	results, err := b.loadPages(ctx, p)
	return results, errors.Join(err, p.stop())
}

// filled makes the site, unless a run before has left it.
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

// fillYear makes the site with a year of events, ending now.
func (b *bench) fillYear(ctx context.Context, dir string) error {
	b.o.Progress(fmt.Sprintf("filling a site with %d events of a year, %d pages", b.o.Events, b.o.Pages))
	s, err := b.o.Open(ctx, dir)
	if err != nil {
		return err
	}
	err = s.Site(ctx, bigSite)
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

// pageRequests are those that the page makes for the days until today.
func pageRequests(days int) []string {
	today := time.Now().UTC()
	q := url.Values{"from": {today.AddDate(0, 0, 1-days).Format(time.DateOnly)}, "to": {today.Format(time.DateOnly)}}
	site := "/api/v1/sites/" + bigSite
	period := "day"
	switch {
	case days <= 2:
		period = "hour"
	case days > 180:
		period = "month"
	}
	paths := []string{site + "/stats?compare=previous&period=" + period + "&" + q.Encode(), site + "/realtime", site + "/goals/report?" + q.Encode()}
	for _, by := range []analytics.Dimension{analytics.BySource, analytics.ByPage, analytics.ByCountry, analytics.ByBrowser, analytics.ByGoal, analytics.ByEventName} {
		paths = append(paths, fmt.Sprintf("%s/breakdown?by=%s&limit=%d&%s", site, by, pageLimit, q.Encode()))
	}
	return paths
}

func (b *bench) loadPages(ctx context.Context, p *process) (results []Result, err error) {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	for _, days := range []int{1, 7, 30, 90, yearDays} {
		paths := pageRequests(days)
		var took []float64
		for range loads {
			began := time.Now()
			group, ctx := errgroup.WithContext(ctx)
			for _, path := range paths {
				group.Go(func() error { return errors.Join(ctx.Err(), get(client, p.address, path, nil)) })
			}
			if err := group.Wait(); err != nil {
				return nil, err
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		name := fmt.Sprintf("dashboard of %d days, %d requests, p95", days, len(paths))
		results = append(results, Result{Name: strings.Replace(name, " 1 days", " one day", 1), Unit: "ms", Value: percentile(took, 95), Goal: 150, Most: true})
	}
	return results, nil
}
