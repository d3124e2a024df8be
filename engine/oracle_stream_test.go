package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/seeds"
)

// asked makes random requests about one stream. Some have a member that is missing or outside its
// bounds.
type asked struct {
	*rand.Rand
	t      *testing.T
	db     *engine.DB
	arn    *string
	shards []streamtypes.Shard
}

// TestOracleOfStreams sends random requests about a stream to the engine. Pages and children of
// shards, iterators and records must match the list of all shards. Members outside their bounds
// must be refused as the API Reference specifies.
func TestOracleOfStreams(t *testing.T) {
	for seed := range seeds.Each(t, 1) {
		db, arn, shards := rolled(t)
		a := &asked{Rand: rand.New(rand.NewPCG(seed, 6)), t: t, db: db, arn: arn, shards: shards}
		for range 2000 {
			switch a.IntN(3) {
			case 0:
				a.describe()
			case 1:
				a.iterator()
			default:
				a.records()
			}
		}
	}
}

// text returns nothing, a valid text, or a text outside its bounds.
func (a *asked) text(fits string) (*string, bool) {
	switch a.IntN(12) {
	case 0:
		return nil, false
	case 1:
		return ptr("short"), false
	case 2:
		return ptr(strings.Repeat("x", 2049)), false
	}
	return &fits, true
}

// limit returns a page size; nil means the largest.
func (a *asked) limit(most int32) (n *int32, ok bool) {
	switch a.IntN(8) {
	case 0:
		return ptr(int32(0)), false
	case 1:
		return ptr(most + 1), false
	case 2:
		return nil, true
	case 3:
		return ptr(most), true
	}
	return ptr(1 + a.Int32N(5)), true
}

// refused compares the code of an error with the fault of a request.
func (a *asked) refused(in any, err error, valid bool) bool {
	a.t.Helper()
	var api smithy.APIError
	errors.As(err, &api)
	switch {
	case valid && err != nil:
		a.t.Fatalf("%+v: %v", in, err)
	case !valid && (api == nil || api.ErrorCode() != "ValidationException"):
		a.t.Fatalf("%+v: %v, want a ValidationException", in, err)
	}
	return !valid
}

func ids(shards []streamtypes.Shard) (all []string) {
	for _, sh := range shards {
		all = append(all, *sh.ShardId)
	}
	return all
}

func (a *asked) describe() {
	in := &dynamodbstreams.DescribeStreamInput{}
	arn, valid := a.text(*a.arn)
	in.StreamArn = arn
	limit, ok := a.limit(100)
	in.Limit, valid = limit, valid && ok
	want := a.shards
	if a.IntN(3) == 0 { // the children of one shard
		parent := *a.shards[a.IntN(len(a.shards))].ShardId
		id, ok := a.text(parent)
		in.ShardFilter = &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: id}
		if valid = valid && ok; a.IntN(6) == 0 {
			in.ShardFilter.Type, valid = []streamtypes.ShardFilterType{"", "NOPE"}[a.IntN(2)], false
		}
		want = slices.DeleteFunc(slices.Clone(want), func(sh streamtypes.Shard) bool { return sh.ParentShardId == nil || *sh.ParentShardId != parent })
	} else if a.IntN(2) == 0 {
		after := a.IntN(len(a.shards))
		id, ok := a.text(*a.shards[after].ShardId)
		if in.ExclusiveStartShardId = id; id != nil {
			want, valid = want[after+1:], valid && ok
		}
	}
	out, err := a.db.DescribeStream(context.Background(), in)
	if a.refused(in, err, valid) {
		return
	}
	last := ""
	if in.Limit != nil && len(want) > int(*in.Limit) {
		want = want[:*in.Limit]
		last = *want[len(want)-1].ShardId
	}
	got := out.StreamDescription
	if got.Shards == nil || fmt.Sprint(ids(got.Shards)) != fmt.Sprint(ids(want)) || last != deref(got.LastEvaluatedShardId) {
		a.t.Fatalf("%+v: %v and then after %q, want %v and %q", in, ids(got.Shards), deref(got.LastEvaluatedShardId), ids(want), last)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (a *asked) iterator() {
	arn, valid := a.text(*a.arn)
	shard, ok := a.text(*a.shards[a.IntN(len(a.shards))].ShardId)
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard}
	types := []streamtypes.ShardIteratorType{"LATEST", "TRIM_HORIZON", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "", "NOPE"}
	n := a.IntN(len(types))
	in.ShardIteratorType, valid = types[n], valid && ok && n < 4
	if n == 2 || n == 3 {
		for _, sh := range a.shards {
			if shard == nil || *sh.ShardId == *shard {
				in.SequenceNumber = sh.SequenceNumberRange.StartingSequenceNumber
			}
		}
		if a.IntN(4) == 0 {
			in.SequenceNumber, valid = []*string{nil, ptr("12"), ptr(strings.Repeat("1", 41))}[a.IntN(3)], false
		}
	}
	_, err := a.db.GetShardIterator(context.Background(), in)
	a.refused(in, err, valid)
}

func (a *asked) records() {
	at, err := a.db.GetShardIterator(context.Background(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: a.arn, ShardId: a.shards[a.IntN(len(a.shards))].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		a.t.Fatal(err)
	}
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator}
	limit, valid := a.limit(1000)
	in.Limit = limit
	if a.IntN(8) == 0 {
		in.ShardIterator, valid = []*string{nil, ptr(""), ptr(strings.Repeat("x", 2049))}[a.IntN(3)], false
	}
	out, err := a.db.GetRecords(context.Background(), in)
	if !a.refused(in, err, valid) && out.Records == nil {
		a.t.Fatalf("%+v: no list of records", in)
	}
}
