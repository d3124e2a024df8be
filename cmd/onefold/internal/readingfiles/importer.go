package readingfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold/internal/logimport"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/telemetry"
)

const (
	readingsOfBatch = 500
	batchesWaiting  = 4 // read ahead of what takes them, at most
	takers          = 2 // so that one batch is prepared while another waits for the disk
)

// Taker takes readings: each once however often it is sent, with an outcome for each, in order. telemetry.Collector is one.
type Taker interface {
	Ingest(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, error)
}

// Importer reads files and hands their readings to a taker.
type Importer struct {
	o     Options
	taker Taker
	bar   logimport.Progress

	Summary Summary // of all that was read so far; not to be looked at while File runs
}

// NewImporter makes one.
func NewImporter(taker Taker, bar logimport.Progress, o Options) *Importer {
	return &Importer{o: o, taker: taker, bar: bar}
}

// batch is readings with the numbers of their lines.
type batch struct {
	readings []telemetry.Incoming
	numbers  []int64
}

// File imports one file; "-" is stdin. A reading that is there already is not stored again, so a file that was half
// imported is imported again whole. Errors: ErrHeader, before anything is imported; ErrDamaged, after all that stands
// before the damage was; those of the taker.
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
	if c, ok := stdin.(io.Closer); ok && name == "-" { // a pipe may have nothing to read for ever
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	damage, err := im.pump(ctx, rows)
	closed := f.Close()
	switch {
	case err != nil:
		return errors.Join(err, closed)
	case damage != nil: // closing a damaged file says the same again
		return fmt.Errorf("%w: %s was imported up to a position that cannot be read: %w", ErrDamaged, name, damage)
	}
	return closed
}

// ErrDamaged is returned when a file could not be read to its end. What stands before was imported.
var ErrDamaged = errors.New("damaged_file")

// pump reads rows and hands their readings to the taker. damage is why the rows ended early.
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
		for range takers {
			senders.Go(func() error {
				for b := range batches {
					outcomes, err := im.taker.Ingest(ctx, b.readings)
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

// read puts readings together to batches.
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
