package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// Import puts the items of lines {"Item":{…}} into a table. An item replaces the item with the same
// key; the last of several lines with the same key wins. An import may therefore be repeated,
// whatever the result of the first attempt.
type Import struct {
	API     dynamo.API
	Table   string
	Writers int                          // batches sent in parallel, at least 1
	Reject  func(r Rejected) error       // receives a line that cannot be imported; an error stops the import; nil: stop at the first such line
	Begin   func(f *File, of, files int) // called before each file; may be nil
	Read    func(lines, bytes int64)     // called at intervals with the totals over all files; may be nil
	Stdin   io.Reader

	keys    []string // key attributes of the table
	waiting *semaphore.Weighted
	state   importState
}

// Imported is the result of an import.
type Imported struct {
	Lines    int64 `json:"lines"`
	Items    int64 `json:"items"`
	Rejected int64 `json:"rejected"`
}

// Rejected is a line that was not imported.
type Rejected struct {
	File string
	Line int64 // from 1
	Text []byte
	Why  error
}

// Error returns the location of the line and the problem.
func (r *Rejected) Error() string { return fmt.Sprintf("%s:%d: %v", r.File, r.Line, r.Why) }

// Unwrap returns the problem.
func (r *Rejected) Unwrap() error { return r.Why }

// importState is shared by the goroutines of an import.
type importState struct {
	mu  sync.Mutex // guards sum and serializes calls of Reject
	sum Imported
}

// entry is an item parsed from a line.
type entry struct {
	rejected Rejected // the line, if the item is rejected
	item     map[string]types.AttributeValue
	key      string
}

// size returns the bytes of the entry's line.
func (e *entry) size() int64 { return int64(len(e.rejected.Text)) }

// Limits of the queue, by number and by size, so that neither many items nor large ones exhaust
// memory. Bytes are those of lines; decoded items take several times as much.
const (
	entriesWaiting = 256      // per writer
	bytesWaiting   = 64 << 20 // for all writers, including batches being sent; many times MaxLine
)

// Run imports the sources one after another. Errors: *Rejected, ErrUnreadable, ErrDamaged, those of
// the table and of Reject.
func (m *Import) Run(ctx context.Context, sources []Source) (Imported, error) {
	described, err := m.API.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &m.Table})
	if err != nil {
		return Imported{}, err
	}
	m.keys = nil
	for _, k := range described.Table.KeySchema {
		m.keys = append(m.keys, *k.AttributeName)
	}
	// One goroutine reads and parses, and each writer has a queue of its own. The semaphore bounds
	// the bytes of all queues together.
	group, ctx := errgroup.WithContext(ctx)
	m.waiting = semaphore.NewWeighted(bytesWaiting)
	queues := make([]chan entry, m.Writers)
	for i := range queues {
		queues[i] = make(chan entry, entriesWaiting)
		group.Go(func() error { return m.write(ctx, queues[i]) })
	}
	group.Go(func() error {
		defer func() {
			for _, q := range queues {
				close(q)
			}
		}()
		for i := range sources {
			if err := m.file(ctx, &sources[i], i, len(sources), queues); err != nil {
				return err
			}
		}
		return nil
	})
	err = group.Wait()
	return m.state.sum, err
}

// file reads one source and queues its items.
func (m *Import) file(ctx context.Context, s *Source, at, of int, queues []chan entry) (err error) {
	sum := s.sum()
	var also io.Writer
	if sum != nil {
		also = sum
	}
	f, err := OpenFile(s.Name, m.Stdin, also)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if c, ok := m.Stdin.(io.Closer); ok && s.Name == "-" { // unblock a read from a pipe without data
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	if m.Begin != nil {
		m.Begin(f, at, of)
	}
	lines, err := m.lines(ctx, f, queues)
	if err != nil {
		return err
	}
	return s.check(lines, sum)
}

func (m *Import) lines(ctx context.Context, f *File, queues []chan entry) (items int64, err error) {
	const between = 1 << 10 // lines between two progress reports
	seed := maphash.MakeSeed()
	var text []byte
	for number := int64(1); ; number++ {
		text, err = f.next(text[:0])
		if errors.Is(err, io.EOF) {
			m.reportProgress(f, number-1)
			return items, ctx.Err()
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return items, err
		}
		if number%between == 0 {
			m.reportProgress(f, number)
		}
		if err == nil && len(text) == 0 {
			continue
		}
		e := entry{rejected: Rejected{File: f.Name, Line: number, Why: err}}
		m.count(func(sum *Imported) { sum.Lines++ })
		items++
		if err == nil {
			// The buffer of the line is reused for the next one.
			e.rejected.Text = append([]byte(nil), text...)
			e.rejected.Why = m.parse(&e)
		}
		if e.rejected.Why != nil {
			if err := m.reject(e.rejected); err != nil {
				return items, err
			}
			continue
		}
		// All lines with the same key go to the same writer, so the last of them is put last.
		if err := m.enqueue(ctx, queues[maphash.String(seed, e.key)%uint64(len(queues))], e); err != nil {
			return items, err
		}
	}
}

// enqueue waits until there is space for an entry. The writer frees the space when it has put or
// rejected the entry.
func (m *Import) enqueue(ctx context.Context, queue chan<- entry, e entry) error {
	if m.waiting.Acquire(ctx, e.size()) != nil {
		return context.Cause(ctx)
	}
	select {
	case queue <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Import) reportProgress(f *File, lines int64) {
	if m.Read != nil {
		m.Read(lines, f.BytesRead())
	}
}

// count updates the sum.
func (m *Import) count(change func(*Imported)) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	change(&m.state.sum)
}

// reject passes a line to Reject, or stops the import.
func (m *Import) reject(r Rejected) error {
	if m.Reject == nil {
		return &r
	}
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	m.state.sum.Rejected++
	return m.Reject(r)
}

// parse decodes the item of a line, and its key.
func (m *Import) parse(e *entry) error {
	var put types.PutRequest
	if err := dynamojson.Decode(e.rejected.Text, &put); err != nil {
		return fmt.Errorf("is not DynamoDB JSON: %w", explained(e.rejected.Text, err))
	}
	if put.Item == nil {
		return errors.New(`holds no {"Item":{…}}`)
	}
	e.item = put.Item
	for _, name := range m.keys {
		v, ok := put.Item[name]
		if !ok {
			return fmt.Errorf("the item has no key attribute %q", name)
		}
		e.key += keyText(v) + "\x00"
	}
	return nil
}

// explained describes the syntax error of a line that is not JSON; DynamoDB's own message says
// nothing.
func explained(text []byte, err error) error {
	var raw json.RawMessage
	if syntax := json.Unmarshal(text, &raw); syntax != nil {
		return syntax
	}
	return err
}
