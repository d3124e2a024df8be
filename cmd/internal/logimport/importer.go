package logimport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/eventcsv"
	"github.com/onefold/onefold/internal/useragent"
)

const (
	hitsOfBatch    = 512 // events per call of an ingester
	batchesWaiting = 4   // batches read ahead of the ingesters, at most
	ingesters      = 4   // concurrent calls, so that batches are prepared while others wait for the disk
)

// Ingester stores events. It stores each event once, however often it is sent, and returns an outcome
// for each. analytics.Collector is an Ingester.
type Ingester interface {
	Ingest(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error)
}

// Options select what is imported. The zero value imports page views of people, in the detected
// format of each file.
type Options struct {
	Site   string   // site of the events
	Format Format   // default: Auto
	Bots   bool     // include requests of bots
	Assets bool     // include requests for images, scripts, styles and fonts
	Hosts  []string // only requests to these virtual hosts; default: all
}

// Progress displays the progress of reading.
type Progress interface {
	// Start begins a file of size bytes (-1: unknown). read returns the number of bytes read so
	// far.
	Start(name string, size int64, read func() int64)
	// Lines reports the number of lines read so far, over all files.
	Lines(n int64)
}

// Importer reads files and passes their events to an ingester. Reading is sequential, because an
// event's ID includes the number of earlier occurrences of the same line.
type Importer struct {
	o        Options
	ingester Ingester
	agents   *useragent.Parser
	bar      Progress

	Summary Summary // of all files so far; must not be read while File runs
}

// New returns an importer.
func New(ingester Ingester, bar Progress, o Options) (*Importer, error) {
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	o.Format = cmp.Or(o.Format, Auto)
	return &Importer{o: o, ingester: ingester, agents: agents, bar: bar}, nil
}

// File imports a file; "-" is stdin. Sending an event again stores nothing, so a half-imported file
// is imported again as a whole. Errors: ErrUnknownFormat, before anything is imported;
// DamagedError, after everything before the damage is imported; those of the ingester.
func (im *Importer) File(ctx context.Context, name string, stdin io.Reader) error {
	f, err := accesslog.Open(name, stdin)
	if err != nil {
		return err
	}
	lines, translate, err := im.open(f, name)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	im.bar.Start(name, f.Size(), f.BytesRead)
	if c, ok := stdin.(io.Closer); ok && name == "-" { // unblock a read from a pipe without data
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	damage, err := im.pump(ctx, lines, translate)
	closed := f.Close()
	switch {
	case err != nil:
		return errors.Join(err, closed)
	case damage != nil: // Close of a damaged file returns the same error
		return &DamagedError{name, damage}
	}
	return closed
}

// DamagedError is returned if a file cannot be read to its end. Everything before the damage was
// imported.
type DamagedError struct {
	name string
	err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("damaged_file: %s was imported up to a position that cannot be read: %v", e.name, e.err)
}
func (e *DamagedError) Unwrap() error { return e.err }

// pump converts lines to events and passes them to the ingester. damage is the reason why the lines
// ended early.
func (im *Importer) pump(ctx context.Context, lines lines, translate translator) (damage, err error) {
	batches := make(chan []analytics.Hit, batchesWaiting)
	results := make(chan []analytics.Outcome, batchesWaiting)
	// Three stages: one goroutine reads and translates lines in order, several send batches, and
	// one counts outcomes, so that only reading must be sequential.
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		defer close(batches)
		damage, err = im.read(ctx, lines, translate, batches)
		return err
	})
	group.Go(func() error {
		defer close(results)
		senders, ctx := errgroup.WithContext(ctx)
		for range ingesters {
			senders.Go(func() error { return im.send(ctx, batches, results) })
		}
		return senders.Wait()
	})
	group.Go(func() error {
		for outcomes := range results {
			im.Summary.count(outcomes)
		}
		return nil
	})
	err = group.Wait()
	return damage, err
}

func (im *Importer) send(ctx context.Context, batches <-chan []analytics.Hit, results chan<- []analytics.Outcome) error {
	for hits := range batches {
		outcomes, err := im.ingester.Ingest(ctx, im.o.Site, hits)
		if err != nil {
			return err
		}
		results <- outcomes
	}
	return nil
}

func (im *Importer) read(ctx context.Context, lines lines, translate translator, batches chan<- []analytics.Hit) (damage, err error) {
	seen := NewOccurrences()
	hits := make([]analytics.Hit, 0, hitsOfBatch)
	hand := func() error {
		select {
		case batches <- hits:
			hits = make([]analytics.Hit, 0, hitsOfBatch)
			im.bar.Lines(im.Summary.Lines)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for line, err := range lines {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !isMalformed(err) {
			damage = err
			break
		}
		hit, ok := im.line(line, err, translate, seen, &im.Summary)
		if !ok {
			continue
		}
		if hits = append(hits, hit); len(hits) == hitsOfBatch {
			if err := hand(); err != nil {
				return nil, err
			}
		}
	}
	return damage, hand()
}

// line converts a line to a hit. It counts lines that are not events.
func (im *Importer) line(line accesslog.Line, err error, translate translator, seen *Occurrences, into *Summary) (hit analytics.Hit, ok bool) {
	into.Lines++
	var v verdict
	if err == nil {
		hit, v, err = translate.hit(line.Text)
	}
	switch {
	case err != nil:
		into.malformed(line, err)
		return hit, false
	case v != anEvent:
		into.skip(v)
		return hit, false
	}
	if hit.EventID == "" {
		hit.EventID = analytics.ContentID(hit.At, line.Text, seen.Next(line.Text))
	}
	return hit, true
}

// isMalformed reports whether an error concerns only one line.
func isMalformed(err error) bool {
	return errors.Is(err, accesslog.ErrMalformed) || errors.Is(err, eventcsv.ErrMalformed)
}

// open chooses how to read a file.
func (im *Importer) open(f *accesslog.File, name string) (lines, translator, error) {
	head, err := f.Head()
	if err != nil {
		return nil, nil, &DamagedError{name, err}
	}
	format := im.o.Format
	if format == Auto {
		if format = detect(head); format == "" {
			return nil, nil, unknownFormat(name)
		}
	}
	if !slices.Contains(im.Summary.Formats, format) {
		im.Summary.Formats = append(im.Summary.Formats, format)
	}
	if export := eventcsv.Export(format); slices.Contains(eventcsv.Exports, export) {
		header, _, _ := bytes.Cut(head, []byte{'\n'})
		if _, err := eventcsv.NewParser(export).Parse(header); err != nil {
			return nil, nil, fmt.Errorf("wrong_header: %w", err)
		}
		return eventcsv.Rows(accesslog.Lines(f)), &exportRows{parser: eventcsv.NewParser(export), agents: im.agents, o: &im.o}, nil
	}
	return accesslog.Lines(f), &logLines{parser: accesslog.NewParser(accesslog.Format(format)), agents: im.agents, o: &im.o}, nil
}
