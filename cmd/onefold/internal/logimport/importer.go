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
	hitsOfBatch    = 512 // events handed on at once
	batchesWaiting = 4   // read ahead of what takes them, at most
	takers         = 4   // so that some batches are prepared while others wait for the disk
)

// Taker takes events: each once however often it is sent, with an outcome for each. analytics.Collector is one.
type Taker interface {
	Ingest(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error)
}

// Options say what is read. The zero value imports page views of people, in the format that each file is in.
type Options struct {
	Site   string   // that the events belong to
	Format Format   // default: Auto
	Bots   bool     // take requests of bots, too
	Assets bool     // take requests of images, scripts, styles and fonts, too
	Hosts  []string // take only requests of these virtual hosts; default: all
}

// Progress is told how far reading has come.
type Progress interface {
	// Start begins a file of the given size in bytes (-1: unknown), of which read tells how much was read.
	Start(name string, size int64, read func() int64)
	// Lines says how many lines were read so far, over all files.
	Lines(n int64)
}

// Importer reads files and hands their events to a taker. Reading is sequential, because the number of times that the
// same line came before is part of its id.
type Importer struct {
	o      Options
	taker  Taker
	agents *useragent.Parser
	bar    Progress

	Summary Summary // of all that was read so far; not to be looked at while File runs
}

// New makes an importer.
func New(taker Taker, bar Progress, o Options) (*Importer, error) {
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	o.Format = cmp.Or(o.Format, Auto)
	return &Importer{o: o, taker: taker, agents: agents, bar: bar}, nil
}

// File imports one file; "-" is stdin. Sending an event again stores nothing, so a file that was half imported is imported
// again whole. Errors: ErrUnknownFormat, before anything of the file is imported; DamagedError, after all that stands
// before the damage was; those of the taker.
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
	if c, ok := stdin.(io.Closer); ok && name == "-" { // a pipe may have nothing to read for ever
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	damage, err := im.pump(ctx, lines, translate)
	closed := f.Close()
	switch {
	case err != nil:
		return errors.Join(err, closed)
	case damage != nil: // closing a damaged file says the same again
		return &DamagedError{name, damage}
	}
	return closed
}

// DamagedError says that a file could not be read to its end. What stands before was imported.
type DamagedError struct {
	name string
	err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("damaged_file: %s was imported up to a position that cannot be read: %v", e.name, e.err)
}
func (e *DamagedError) Unwrap() error { return e.err }

// pump reads lines, makes events of them and hands these to the taker. damage is why the lines ended early.
func (im *Importer) pump(ctx context.Context, lines lines, translate translator) (damage, err error) {
	batches := make(chan []analytics.Hit, batchesWaiting)
	results := make(chan []analytics.Outcome, batchesWaiting)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		defer close(batches)
		damage, err = im.read(ctx, lines, translate, batches)
		return err
	})
	group.Go(func() error {
		defer close(results)
		senders, ctx := errgroup.WithContext(ctx)
		for range takers {
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
		outcomes, err := im.taker.Ingest(ctx, im.o.Site, hits)
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

// line makes a hit of a line that is an event, and counts those that are none.
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

// isMalformed reports whether an error is of one line only.
func isMalformed(err error) bool {
	return errors.Is(err, accesslog.ErrMalformed) || errors.Is(err, eventcsv.ErrMalformed)
}

// open finds out how a file is to be read.
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
