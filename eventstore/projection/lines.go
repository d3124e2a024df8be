package projection

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// LinesFile is a subscriber that writes a JSON line for each append to a file. Its position is that
// of the last line, so effects and position cannot diverge. Opening the file removes a line that a
// crash left incomplete.
type LinesFile struct {
	f        *os.File
	position int64
}

// Line is a line of a LinesFile: the selected events of an append to an aggregate. A line without
// events records a position up to which nothing was selected.
type Line struct {
	Position int64             `json:"position"`
	Type     string            `json:"type,omitempty"` // aggregate type
	ID       string            `json:"id,omitempty"`
	Events   []eventjson.Event `json:"events,omitempty"`
}

// OpenLines opens or creates a file of lines.
func OpenLines(path string) (*LinesFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("projection: lines: %w", err)
	}
	l := &LinesFile{f: f}
	if err := l.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("projection: lines %s: %w", path, err), f.Close())
	}
	return l, nil
}

// recover finds the last complete line and truncates the file after it.
func (l *LinesFile) recover() error {
	r := bufio.NewReaderSize(l.f, 1<<20)
	var whole int64
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil || line.Position <= l.position {
			return fmt.Errorf("there is no line with a higher position at byte %d", whole)
		}
		l.position = line.Position
		whole += int64(len(text))
	}
	if err := l.f.Truncate(whole); err != nil {
		return err
	}
	_, err := l.f.Seek(whole, io.SeekStart)
	return err
}

// Position returns the position of the last line.
func (l *LinesFile) Position(context.Context) (int64, error) { return l.position, nil }

// Put writes lines and syncs the file. After an error the file must be opened again.
func (l *LinesFile) Put(_ context.Context, events []eventstore.FeedEvent, through int64) error {
	if l.position < 0 {
		return errors.New("projection: lines: an earlier write failed; open the file again")
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	last := l.position
	for len(events) > 0 {
		line := Line{Position: events[0].Position, Type: events[0].Type, ID: events[0].ID.ID}
		for len(events) > 0 && events[0].Position == line.Position {
			line.Events, events = append(line.Events, eventjson.Of(&events[0].Event)), events[1:]
		}
		if err := to.Encode(line); err != nil {
			return fmt.Errorf("projection: lines: %w", err)
		}
		last = line.Position
	}
	if last < through {
		if err := to.Encode(Line{Position: through}); err != nil {
			return fmt.Errorf("projection: lines: %w", err)
		}
	}
	l.position = -1
	if _, err := l.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("projection: lines: %w", err)
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("projection: lines: %w", err)
	}
	l.position = through
	return nil
}

// Close closes the file.
func (l *LinesFile) Close() error { return l.f.Close() }
