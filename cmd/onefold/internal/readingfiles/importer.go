package readingfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/telemetry"
)

const (
	readingsOfBatch = 500
	batchesWaiting  = 4 // batches read ahead of the ingesters, at most
	ingesters       = 2 // so that a batch is prepared while another waits for the disk
)

// Ingester stores readings. It stores each reading once, however often it is sent, and returns an
// outcome for each, in order. telemetry.Collector is an Ingester.
type Ingester interface {
	Ingest(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, error)
}

// Importer reads files and passes their readings to an ingester.
type Importer struct {
	o        Options
	ingester Ingester
	bar      logimport.Progress

	Summary Summary // of all files so far; must not be read while File runs
}

// NewImporter returns an importer.
func NewImporter(ingester Ingester, bar logimport.Progress, o Options) *Importer {
	return &Importer{o: o, ingester: ingester, bar: bar}
}

// batch holds readings with their line numbers.
type batch struct {
	readings []telemetry.Incoming
	numbers  []int64
}

// File imports a file; "-" is stdin. A stored reading is not stored again, so a half-imported file
// is imported again as a whole. Errors: ErrHeader, before anything is imported; ErrDamaged, after
// everything before the damage is imported; those of the ingester.
func (im *Importer) File(ctx context.Context, name string, stdin io.Reader) (err error) {
	f, err := accesslog.Open(name, stdin)
	if err != nil {
		return err
	}
	format, rows, err := Read(f, im.o)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	im.Summary.format(format)
	im.bar.Start(name, f.Size(), f.BytesRead)
	if c, ok := stdin.(io.Closer); ok && name == "-" { // unblock a read from a pipe without data
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	damage, err := im.pump(ctx, rows)
	closed := f.Close()
	switch {
	case err != nil:
		return errors.Join(err, closed)
	case damage != nil: // Close of a damaged file returns the same error
		return fmt.Errorf("%w: %s was imported up to a position that cannot be read: %w", ErrDamaged, name, damage)
	}
	return closed
}

// ErrDamaged is returned if a file could not be read to its end. Everything before the damage was
// imported.
var ErrDamaged = errors.New("damaged_file")

// pump reads rows and passes their readings to the ingester. damage is the reason why the rows ended
// early.
func (im *Importer) pump(ctx context.Context, rows iter.Seq2[Row, error]) (damage, err error) {
	batches := make(chan batch, batchesWaiting)
	type result struct {
		batch
		outcomes []telemetry.Outcome
	}
	results := make(chan result, batchesWaiting)
	group, ctx := errgroup.WithContext(ctx)
	var malformed Summary
	group.Go(func() (err error) {
		defer close(batches)
		damage, err = im.read(ctx, rows, batches, &malformed)
		return err
	})
	group.Go(func() error {
		defer close(results)
		senders, ctx := errgroup.WithContext(ctx)
		for range ingesters {
			senders.Go(func() error {
				for b := range batches {
					outcomes, err := im.ingester.Ingest(ctx, b.readings)
					if err != nil {
						return err
					}
					results <- result{b, outcomes}
				}
				return nil
			})
		}
		return senders.Wait()
	})
	group.Go(func() error {
		for r := range results {
			im.Summary.count(&r.batch, r.outcomes)
		}
		return nil
	})
	err = group.Wait()
	im.Summary.addMalformed(&malformed)
	return damage, err
}

// read collects readings into batches.
func (im *Importer) read(ctx context.Context, rows iter.Seq2[Row, error], batches chan<- batch, malformed *Summary) (damage, err error) {
	var b batch
	lines := im.Summary.Lines
	hand := func() error {
		if len(b.readings) == 0 {
			return nil
		}
		select {
		case batches <- b:
			b = batch{}
			im.bar.Lines(lines)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for row, err := range rows {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			damage = err
			break
		}
		lines++
		malformed.Lines++
		if row.Err != nil {
			malformed.malformed(&row)
			continue
		}
		b.readings, b.numbers = append(b.readings, row.Incoming), append(b.numbers, row.Number)
		if len(b.readings) == readingsOfBatch {
			if err := hand(); err != nil {
				return nil, err
			}
		}
	}
	return damage, hand()
}
