package logimport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/tail"
)

// Following is a followed log, with the storage of its position.
type Following struct {
	File      tail.Options
	Positions *Positions
	Logger    *slog.Logger
}

// Follow imports the lines of a log as they are appended, until ctx ends, which is not an error.
// Events have the same IDs as when the file is imported. After a restart, Follow reads the file
// from its beginning to count earlier occurrences of each line, and passes on only the lines after
// the saved position. A position is saved when everything before it is stored.
func (im *Importer) Follow(ctx context.Context, f Following) error {
	from, err := f.Positions.Load()
	if err != nil {
		return err
	}
	f.File.From = from
	file := tail.Open(f.File)
	err = im.follow(ctx, file, f)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

func (im *Importer) follow(ctx context.Context, file *tail.File, f Following) error {
	var translate translator
	var seen *Occurrences
	for {
		batch, err := file.Next(ctx)
		if err != nil {
			return err
		}
		if batch.Lost {
			f.Logger.Warn("the followed file is gone; import its remains if you still have them; nothing is counted twice", "file", f.File.Path)
		}
		if batch.First {
			if translate, err = im.translatorOf(batch.Lines, f.File.Path); err != nil {
				return err
			}
			seen = NewOccurrences()
		}
		before := im.Summary.Malformed
		if err := im.take(ctx, &batch, translate, seen); err != nil {
			return err
		}
		if n := im.Summary.Malformed - before; n > 0 {
			f.Logger.Warn("malformed lines", "file", f.File.Path, "lines", n)
		}
		if !batch.Old {
			if err := f.Positions.Save(batch.End); err != nil {
				return err
			}
		}
	}
}

// translatorOf chooses the format of a file that begins with these lines.
func (im *Importer) translatorOf(lines []tail.Line, name string) (translator, error) {
	format := im.o.Format
	if format == Auto {
		var head bytes.Buffer
		for _, l := range lines {
			head.Write(l.Text)
			head.WriteByte('\n')
		}
		if format = Format(accesslog.Detect(head.Bytes())); format == "" {
			return nil, unknownFormat(name)
		}
		im.o.Format = format // the same format for rotated files
	}
	if !slices.Contains(accesslog.Formats, accesslog.Format(format)) {
		return nil, fmt.Errorf("not_followable: %s is an export, which does not grow; import it without --follow", name)
	}
	if !slices.Contains(im.Summary.Formats, format) {
		im.Summary.Formats = append(im.Summary.Formats, format)
	}
	return &logLines{parser: accesslog.NewParser(accesslog.Format(format)), agents: im.agents, o: &im.o}, nil
}

// take passes the events of a batch on. Lines of an old batch, which were passed on before, are
// only counted.
func (im *Importer) take(ctx context.Context, batch *tail.Batch, translate translator, seen *Occurrences) error {
	into := &im.Summary
	if batch.Old {
		into = new(Summary)
	}
	hits := make([]analytics.Hit, 0, hitsOfBatch)
	send := func() error {
		if batch.Old || len(hits) == 0 {
			return nil
		}
		outcomes, err := im.ingester.Ingest(ctx, im.o.Site, hits)
		im.Summary.count(outcomes)
		hits = hits[:0]
		return err
	}
	for _, l := range batch.Lines {
		var err error
		if l.TooLong {
			err = fmt.Errorf("%w: the line is longer than 1 MiB", accesslog.ErrMalformed)
		}
		hit, ok := im.line(accesslog.Line{Number: l.Number, Text: l.Text}, err, translate, seen, into)
		if !ok {
			continue
		}
		if hits = append(hits, hit); len(hits) == hitsOfBatch {
			if err := send(); err != nil {
				return err
			}
		}
	}
	im.bar.Lines(im.Summary.Lines)
	return send()
}
