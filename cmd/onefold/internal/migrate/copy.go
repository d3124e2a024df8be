package migrate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/table"
)

// Copy copies all items, then deletes items of an earlier copy that no longer exist in the source.
// The position of the source's stream was saved before, so Follow applies changes made meanwhile.
// Copy resumes where another process has stopped.
func (m *Move) Copy(ctx context.Context) error {
	if phase := m.Phase(); phase != migration.Copying && phase != migration.Sweeping {
		return nil
	}
	return m.keeping(ctx, func(ctx context.Context) error {
		if len(m.source.saved()) == 0 && m.source.followed().IsZero() {
			if err := m.source.skip(ctx, m.o.Clock()); err != nil {
				return err
			}
			if err := m.save(ctx); err != nil { // before the first item is read
				return err
			}
		}
		if m.Phase() == migration.Copying {
			if err := m.scan(ctx, m.from, false, m.copyPage); err != nil {
				return err
			}
			m.mu.Lock()
			again := m.state.Items < 0 || m.o.Restart
			m.mu.Unlock()
			next := migration.Following
			if again {
				next = migration.Sweeping
			}
			m.setPhase(next, m.o.Segments)
			if err := m.save(ctx); err != nil {
				return err
			}
		}
		if m.Phase() == migration.Sweeping {
			if err := m.scan(ctx, m.to, true, m.sweepPage); err != nil {
				return err
			}
			m.setPhase(migration.Following, 0)
		}
		return nil
	})
}

// scan reads all items of a store in parallel segments, each from its saved position.
func (m *Move) scan(ctx context.Context, s Store, keys bool, page func(context.Context, []table.Item) error) error {
	m.mu.Lock()
	segments := len(m.state.Segments)
	m.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	for i := range segments {
		group.Go(func() error { return m.scanSegment(ctx, s, keys, i, segments, page) })
	}
	return group.Wait()
}

func (m *Move) scanSegment(ctx context.Context, s Store, keys bool, i, n int, page func(context.Context, []table.Item) error) error {
	m.mu.Lock()
	at := m.state.Segments[i]
	m.mu.Unlock()
	for !at.Done {
		in := scanInput(s.Table, i, n)
		if at.PK != "" {
			in.ExclusiveStartKey = table.Item{table.AttrPK: &types.AttributeValueMemberS{Value: at.PK}, table.AttrSK: &types.AttributeValueMemberS{Value: at.SK}}
		}
		if keys {
			in.ProjectionExpression = aws.String("pk, sk, et")
		}
		out, err := m.scanPage(ctx, s, in)
		if err == nil {
			err = page(ctx, out.Items)
		}
		if err != nil {
			return err
		}
		last := out.LastEvaluatedKey
		at = migration.Segment{PK: text(last[table.AttrPK]), SK: text(last[table.AttrSK]), Done: last == nil}
		m.mu.Lock()
		m.state.Segments[i] = at
		progress := Progress{Phase: string(m.state.Phase), Items: max(m.state.Items, 0), Total: m.state.Total, Bytes: m.state.Bytes}
		m.o.Progress(progress)
		m.mu.Unlock()
	}
	return nil
}

// scanInput requests a consistent read. An eventually consistent one could miss an item that was
// written before the stream's position was saved.
func scanInput(name string, segment, of int) *dynamodb.ScanInput {
	return &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true), Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(of))}
}

// scanPage reads a page. It retries while the store is throttled or unavailable.
func (m *Move) scanPage(ctx context.Context, s Store, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	for started, wait := m.o.Clock(), firstWait; ; wait = min(2*wait, longestWait) {
		out, err := s.API.Scan(ctx, in)
		if err == nil {
			return out, nil
		}
		if ctx.Err() != nil || !transient(err) || m.o.Clock().Sub(started) > patience {
			return nil, fmt.Errorf("move: read %s: %w", s.Name, err)
		}
		if err := m.o.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// copyPage writes items of the source to the target.
func (m *Move) copyPage(ctx context.Context, items []table.Item) error {
	changes := make([]change, 0, len(items))
	now, size := m.o.Clock().Unix(), 0
	for _, it := range items {
		if copied(it) && !expires(it, now) {
			changes = append(changes, change{key: keyOf(it), item: unmarked(it)})
			size += table.ItemSize(it)
		}
	}
	if err := m.write.apply(ctx, changes); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Items >= 0 {
		m.state.Items += int64(len(changes))
	}
	m.state.Bytes += int64(size)
	return nil
}

// expires reports whether an item has expired at a time in Unix seconds. The store may not have
// deleted it yet.
func expires(it table.Item, at int64) bool {
	n, ok := it[table.AttrTTL].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	ttl, err := strconv.ParseInt(n.Value, 10, 64)
	return err == nil && ttl <= at
}

const maxKeys = 100 // limit of BatchGetItem

// sweepPage deletes those items of the target that the source does not have. If the source gets
// such an item meanwhile, it arrives through the stream.
func (m *Move) sweepPage(ctx context.Context, items []table.Item) error {
	for len(items) > 0 {
		n := min(len(items), maxKeys)
		part := map[string]table.Item{}
		for _, it := range items[:n] {
			if copied(it) {
				part[id(it)] = keyOf(it)
			}
		}
		items = items[n:]
		if err := m.strike(ctx, part); err != nil {
			return err
		}
		changes := make([]change, 0, len(part))
		for _, key := range part {
			changes = append(changes, change{key: key})
		}
		if err := m.write.apply(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// strike removes from part the items that the source has.
func (m *Move) strike(ctx context.Context, part map[string]table.Item) error {
	ask := make([]table.Item, 0, len(part))
	for _, key := range part {
		ask = append(ask, key)
	}
	// BatchGetItem may return some keys unprocessed; those are asked for again, more slowly.
	for wait := firstWait; len(ask) > 0; wait = min(2*wait, longestWait) {
		out, err := m.from.API.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			m.from.Table: {Keys: ask, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("pk, sk")},
		}})
		if err != nil && !transient(err) {
			return fmt.Errorf("move: read %s: %w", m.from.Name, err)
		}
		if err == nil {
			for _, it := range out.Responses[m.from.Table] {
				delete(part, id(it))
			}
			if ask = out.UnprocessedKeys[m.from.Table].Keys; len(ask) == 0 {
				return nil
			}
		}
		if err := m.o.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}
