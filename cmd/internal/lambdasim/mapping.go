package lambdasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/table"
)

// Mapping is an event source mapping: it delivers the changes of a stream to a function. Each batch
// is of one shard; shards are read in parallel, a parent before its children. A failed batch is
// bisected and sent again.
type Mapping struct {
	Streams dynamo.Streams
	ARN     string
	Call    func(ctx context.Context, payload []byte, limit time.Duration, kill <-chan struct{}) ([]byte, error)

	Batch   int           // maximum records per batch; default 1,000
	Timeout time.Duration // of the function; default one minute
	Sources []string      // filter by entity; nil: all

	// Trouble makes rare events frequent: repeated batches, repeats of old ones, far too little
	// time, killed processes. nil: none.
	Trouble *rand.Rand

	mu      sync.Mutex
	shards  map[string]*shard
	invoked atomic.Int64
	records atomic.Int64
}

type shard struct {
	id, parent string
	iterator   *string
	finished   bool
	old        []streamtypes.Record // the previous batch
}

const (
	maxAttempts = 200 // at one batch; Lambda retries for a day
	inTrouble   = 0.3 // share of batches, if Trouble is set
)

// Invoked returns the number of invocations, and of records delivered.
func (m *Mapping) Invoked() (calls, records int64) { return m.invoked.Load(), m.records.Load() }

// Window delivers everything in the stream, including changes written meanwhile, as Lambda does at
// the end of its batching window.
func (m *Mapping) Window(ctx context.Context) error {
	_, err := m.round(ctx)
	return err
}

// Drain delivers everything in the stream, including the changes that the function writes, until
// there are no more.
func (m *Mapping) Drain(ctx context.Context) error {
	for {
		n, err := m.round(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
}

// round reads every shard to its end, parents first.
func (m *Mapping) round(ctx context.Context) (read int64, err error) {
	if err := m.list(ctx); err != nil {
		return 0, err
	}
	var total atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for _, sh := range m.ready() {
		g.Go(func() error {
			n, err := m.readShard(ctx, sh)
			total.Add(int64(n))
			return err
		})
	}
	err = g.Wait()
	return total.Load(), err
}

// list finds new shards.
func (m *Mapping) list(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shards == nil {
		m.shards = make(map[string]*shard)
	}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &m.ARN}
	for {
		out, err := m.Streams.DescribeStream(ctx, in)
		if err != nil {
			return err
		}
		for _, sh := range out.StreamDescription.Shards {
			if id := *sh.ShardId; m.shards[id] == nil {
				m.shards[id] = &shard{id: id, parent: aws.ToString(sh.ParentShardId)}
			}
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return nil
		}
	}
}

func (m *Mapping) ready() (all []*shard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sh := range m.shards {
		if parent := m.shards[sh.parent]; !sh.finished && (parent == nil || parent.finished) {
			all = append(all, sh)
		}
	}
	return all
}

// readShard reads a shard until there are no more records.
func (m *Mapping) readShard(ctx context.Context, sh *shard) (read int, err error) {
	if sh.iterator == nil {
		out, err := m.Streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &m.ARN, ShardId: &sh.id, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return 0, err
		}
		sh.iterator = out.ShardIterator
	}
	for {
		batch, n, err := m.gather(ctx, sh)
		read += n
		if err == nil && len(batch) > 0 {
			err = m.bring(ctx, sh, batch)
		}
		if err != nil {
			return read, err
		}
		if sh.iterator == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			sh.finished = true
			return read + 1, nil // so that its children are read too
		}
		if n == 0 {
			return read, nil
		}
	}
}

const (
	pageRecords = 1000    // maximum of GetRecords
	maxPayload  = 5 << 20 // in bytes; Lambda's limit is 6 MB of base64 and JSON
)

// gather reads records until a batch is full or there are no more. n includes records that the
// filter removed.
func (m *Mapping) gather(ctx context.Context, sh *shard) (batch []streamtypes.Record, n int, err error) {
	most := m.Batch
	if most <= 0 {
		most = pageRecords
	}
	size := int64(0)
	for sh.iterator != nil && len(batch) < most && size < maxPayload {
		limit := int32(min(most-len(batch), pageRecords))
		out, err := m.Streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: sh.iterator, Limit: &limit})
		if err != nil {
			return nil, n, err
		}
		n += len(out.Records)
		for i := range out.Records {
			if m.passes(&out.Records[i]) {
				batch = append(batch, out.Records[i])
				size += 3 * aws.ToInt64(out.Records[i].Dynamodb.SizeBytes) / 2
			}
		}
		if sh.iterator = out.NextShardIterator; len(out.Records) == 0 {
			break
		}
	}
	return batch, n, nil
}

// passes is the filter of the mapping.
func (m *Mapping) passes(r *streamtypes.Record) bool {
	if m.Sources == nil {
		return true
	}
	for _, image := range []map[string]streamtypes.AttributeValue{r.Dynamodb.NewImage, r.Dynamodb.OldImage} {
		if s, ok := image[table.AttrEntity].(*streamtypes.AttributeValueMemberS); ok && slices.Contains(m.Sources, s.Value) {
			return true
		}
	}
	return false
}

// bring sends a batch until it succeeds, with the irregularities that Lambda documents if Trouble
// is set.
func (m *Mapping) bring(ctx context.Context, sh *shard, batch []streamtypes.Record) error {
	again := slices.Concat(sh.old, batch)
	sh.old = batch
	if !m.troubled() {
		return m.deliver(ctx, sh, batch, 0)
	}
	if m.troubled() { // with repeats of earlier records, as after a failover
		batch = again[m.drawn(len(again)-len(batch)+1):]
	}
	if err := m.deliver(ctx, sh, batch, 0); err != nil {
		return err
	}
	if m.troubled() { // the whole batch again
		return m.deliver(ctx, sh, batch, 0)
	}
	return nil
}

func (m *Mapping) troubled() bool {
	if m.Trouble == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Trouble.Float64() < inTrouble
}

func (m *Mapping) drawn(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Trouble.IntN(n)
}

// deliver sends records until they succeed. After a failure it sends halves; after a partial
// failure it continues at the record that the response names.
func (m *Mapping) deliver(ctx context.Context, sh *shard, batch []streamtypes.Record, attempt int) error {
	if attempt > maxAttempts {
		return fmt.Errorf("lambdasim: a batch of shard %s failed %d times", sh.id, attempt)
	}
	payload, err := event(sh.id, m.ARN, batch)
	if err != nil {
		return err
	}
	limit, kill := m.circumstances()
	m.invoked.Add(1)
	m.records.Add(int64(len(batch)))
	body, err := m.Call(ctx, payload, limit, kill)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		var left []streamtypes.Record
		if left, err = unfinished(body, batch); err == nil {
			if len(left) == 0 {
				return nil
			}
			return m.deliver(ctx, sh, left, attempt+1)
		}
	}
	var failed *FunctionError
	if errors.As(err, &failed) && m.Trouble == nil || errors.Is(err, ErrStart) {
		return err
	}
	if half := len(batch) / 2; half > 0 {
		return errors.Join(m.deliver(ctx, sh, batch[:half], attempt+1), m.deliver(ctx, sh, batch[half:], attempt+1))
	}
	return m.deliver(ctx, sh, batch, attempt+1)
}

// circumstances draws the circumstances of one invocation.
func (m *Mapping) circumstances() (limit time.Duration, kill <-chan struct{}) {
	if limit = m.Timeout; limit <= 0 {
		limit = time.Minute
	}
	if !m.troubled() {
		return limit, nil
	}
	if m.troubled() {
		dead := make(chan struct{})
		time.AfterFunc(time.Duration(m.drawn(4_000))*time.Microsecond, func() { close(dead) })
		return limit, dead
	}
	return time.Duration(1+m.drawn(150)) * time.Millisecond, nil
}

// unfinished returns the records from the first one that the response names.
func unfinished(body []byte, batch []streamtypes.Record) ([]streamtypes.Record, error) {
	var answer struct {
		State    json.RawMessage `json:"state"`
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.State == nil {
		return nil, fmt.Errorf("lambdasim: the response of a window has no state: %s", body)
	}
	first := len(batch)
	for _, f := range answer.Failures {
		i := slices.IndexFunc(batch, func(r streamtypes.Record) bool { return *r.Dynamodb.SequenceNumber == f.ID })
		first = min(first, max(i, 0)) // an unknown record means all
	}
	return batch[first:], nil
}

// event encodes a batch in Lambda's format.
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html
func event(shardID, arn string, batch []streamtypes.Record) ([]byte, error) {
	records := make([]map[string]any, len(batch))
	for i := range batch {
		r := &batch[i]
		records[i] = map[string]any{
			"eventID": aws.ToString(r.EventID), "eventName": r.EventName, "eventVersion": "1.1", "eventSource": "aws:dynamodb",
			"awsRegion": aws.ToString(r.AwsRegion), "eventSourceARN": arn, "dynamodb": json.RawMessage(dynamojson.Append(nil, r.Dynamodb)),
		}
		if by := r.UserIdentity; by != nil {
			records[i]["userIdentity"] = map[string]any{"type": by.Type, "principalId": by.PrincipalId}
		}
	}
	return json.Marshal(map[string]any{
		"Records": records, "shardId": shardID, "eventSourceARN": arn, "state": map[string]any{},
		"window":                 map[string]string{"start": "2026-05-12T14:00:00Z", "end": "2026-05-12T14:00:10Z"},
		"isFinalInvokeForWindow": false, "isWindowTerminatedEarly": false,
	})
}
