package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/useragent"
)

const (
	hitsOfBatch    = 512 // lines handed to the collector at once
	batchesWaiting = 4   // read ahead of the collector, at most
	collectors     = 4   // so that some batches are prepared while others wait for the disk
	shownMalformed = 5   // malformed lines shown in the summary
	shownBytes     = 120 // of each
)

// importer turns lines into hits and hands them to the collector. Reading is sequential, because the number of times
// that the same line came before is part of its id.
type importer struct {
	collector *analytics.Collector
	site      string
	bots      bool
	assets    bool

	parser  *accesslog.Parser
	agents  *useragent.Parser
	summary importSummary
}

func newImporter(s *store, site string, bots, assets bool) (*importer, error) {
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	return &importer{
		collector: analytics.NewCollector(s.table, analytics.CollectorOptions{}),
		site:      site, bots: bots, assets: assets, parser: accesslog.NewParser(), agents: agents,
	}, nil
}

// file imports one file. Sending a line again stores nothing, so a file that was half imported is imported again whole.
func (im *importer) file(ctx context.Context, name string, stdin io.Reader, bar *readProgress) error {
	f, err := accesslog.Open(name, stdin)
	if err != nil {
		return err
	}
	bar.start(name, f.Size(), f.BytesRead)
	var damaged *damagedError
	batches := make(chan []analytics.Hit, batchesWaiting)
	results := make(chan []analytics.Outcome, batchesWaiting)
	group, ctx := errgroup.WithContext(ctx)
	if c, ok := stdin.(io.Closer); ok && name == "-" { // a pipe may have nothing to read for ever
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	group.Go(func() error {
		defer close(batches)
		err := im.read(ctx, f, name, batches, bar)
		if errors.As(err, &damaged) {
			return nil // which would stop the senders
		}
		return err
	})
	group.Go(func() error {
		defer close(results)
		senders, ctx := errgroup.WithContext(ctx)
		for range collectors {
			senders.Go(func() error { return im.send(ctx, batches, results) })
		}
		return senders.Wait()
	})
	group.Go(func() error { im.tally(results); return nil })
	err = group.Wait()
	if closed := f.Close(); damaged == nil { // closing a damaged file says the same again
		return errors.Join(err, closed)
	}
	return cmp.Or[error](err, damaged)
}

// tally counts what became of the hits until there are no more results.
func (im *importer) tally(results <-chan []analytics.Outcome) {
	s := &im.summary
	for outcomes := range results {
		for i := range outcomes {
			switch o := &outcomes[i]; o.Status {
			case analytics.Stored:
				s.Imported++
			case analytics.Duplicate:
				s.Duplicates++
			default:
				if s.rejected == nil {
					s.rejected = map[string]int{}
				}
				s.Rejected++
				s.rejected[string(o.Reason)]++ // reasons are a closed list
			}
		}
	}
}

func (im *importer) send(ctx context.Context, batches <-chan []analytics.Hit, results chan<- []analytics.Outcome) error {
	for hits := range batches {
		outcomes, err := im.collector.Ingest(ctx, im.site, hits)
		if err != nil {
			return err
		}
		results <- outcomes
	}
	return nil
}

func (im *importer) read(ctx context.Context, f *accesslog.File, name string, batches chan<- []analytics.Hit, bar *readProgress) error {
	seen := newOccurrences()
	var damaged error
	hits := make([]analytics.Hit, 0, hitsOfBatch)
	hand := func() error {
		select {
		case batches <- hits:
			hits = make([]analytics.Hit, 0, hitsOfBatch)
			bar.lines(im.summary.Lines)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for line, err := range accesslog.Lines(f) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, accesslog.ErrMalformed) {
			damaged = &damagedError{name, err}
			break
		}
		hit, ok := im.line(line, err, seen)
		if !ok {
			continue
		}
		if hits = append(hits, hit); len(hits) == hitsOfBatch {
			if err := hand(); err != nil {
				return err
			}
		}
	}
	if err := hand(); err != nil {
		return err
	}
	return damaged
}

// damagedError says that a file could not be read to its end. What stands before was imported.
type damagedError struct {
	name string
	err  error
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("damaged_file: %s was imported up to a place that cannot be read: %v", e.name, e.err)
}
func (e *damagedError) Unwrap() error { return e.err }

// line classifies one line and makes a hit of a page view.
func (im *importer) line(line accesslog.Line, err error, seen *occurrences) (analytics.Hit, bool) {
	s := &im.summary
	s.Lines++
	var entry accesslog.Entry
	if err == nil {
		entry, err = im.parser.Parse(line.Text)
	}
	if err != nil {
		s.malformed(line, err)
		return analytics.Hit{}, false
	}
	if entry.Method != http.MethodGet || (entry.Status != http.StatusOK && entry.Status != http.StatusNotModified) {
		s.Skipped.Other++
		return analytics.Hit{}, false
	}
	path, _ := accesslog.SplitTarget(entry.Target)
	if !im.assets && accesslog.IsAsset(path) {
		s.Skipped.Assets++
		return analytics.Hit{}, false
	}
	agent := im.agents.Parse(entry.UserAgent)
	if !im.bots && agent.Bot {
		s.Skipped.Bots++
		return analytics.Hit{}, false
	}
	return analytics.Hit{
		EventID: analytics.ContentID(entry.Time, line.Text, seen.next(line.Text)), Imported: true, At: entry.Time,
		URL: entry.Target, Referrer: entry.Referrer, UserAgent: entry.UserAgent, Address: entry.Addr,
		Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
	}, true
}

func (s *importSummary) malformed(line accesslog.Line, err error) {
	s.Malformed++
	if len(s.shown) == shownMalformed {
		return
	}
	text := line.Text
	if len(text) > shownBytes {
		text = text[:shownBytes]
	}
	s.shown = append(s.shown, fmt.Sprintf("line %d: %v: %q", line.Number, err, text))
}

// occurrences counts how often a line came before in its file, because two visitors' requests, or two of one visitor,
// can be the same to the letter within a second. It remembers at least the last occurrencesKept distinct lines: the
// same request twice in a second stands close together.
type occurrences struct {
	seed           maphash.Seed
	current, older map[uint64]int
}

const occurrencesKept = 100_000

func newOccurrences() *occurrences {
	return &occurrences{seed: maphash.MakeSeed(), current: map[uint64]int{}}
}

// next returns 0 for the first occurrence of the line, 1 for the second, and so on.
func (o *occurrences) next(line []byte) int {
	key := maphash.Bytes(o.seed, line)
	n, ok := o.current[key]
	if !ok {
		n = o.older[key]
	}
	if len(o.current) >= occurrencesKept {
		o.older, o.current = o.current, make(map[uint64]int, occurrencesKept)
	}
	o.current[key] = n + 1
	return n
}
