package infra_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

var whole = table.MustSchema("whole", analytics.Schema, telemetry.Schema, eventstore.Schema)

// service is a DynamoDB whose updates finish only after some describe calls. It can also accept
// updates and do nothing.
type service struct {
	dynamo.API
	updating int // number of calls until the table is active
	ignores  func(*dynamodb.UpdateTableInput) bool
	updates  []*dynamodb.UpdateTableInput
}

func (s *service) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := s.API.DescribeTable(ctx, in, o...)
	if err == nil && s.updating > 0 {
		s.updating--
		out.Table.TableStatus = types.TableStatusUpdating
	}
	return out, err
}

func (s *service) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	if s.updating > 0 {
		return nil, &types.ResourceInUseException{}
	}
	s.updates = append(s.updates, in)
	if s.ignores != nil && s.ignores(in) {
		return &dynamodb.UpdateTableOutput{}, nil
	}
	s.updating = 3
	return s.API.UpdateTable(ctx, in, o...)
}

func newService(t *testing.T) *service {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &service{API: db}
}

// apply returns the steps that were done.
func apply(t *testing.T, s *service, a infra.Applying) ([]string, error) {
	t.Helper()
	done, err := applied(t, s, a)
	return done.Did, err
}

func applied(t *testing.T, s *service, a infra.Applying) (infra.Applied, error) {
	t.Helper()
	asked := 0
	a.TableName = "onefold"
	a.Sleep = func(context.Context, time.Duration) error {
		runtime.Gosched() // the engine fills indexes in the background
		if asked++; asked > 1_000_000 {
			return errors.New("it does not end")
		}
		return nil
	}
	return infra.Apply(t.Context(), s, whole, a)
}

func TestApplyMakesATable(t *testing.T) {
	s := newService(t)
	plan, err := apply(t, s, infra.Applying{DryRun: true})
	if err != nil || !slices.Contains(plan, "create table onefold") {
		t.Fatalf("planned %q, %v", plan, err)
	}
	if _, err := s.API.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: ptr("onefold")}); !dynamo.IsNotFound(err) {
		t.Fatalf("a plan made the table: %v", err)
	}
	did, err := apply(t, s, infra.Applying{})
	if err != nil || strings.Join(did, "; ") != "create table onefold; let items expire" {
		t.Fatalf("did %q, %v", did, err)
	}
	if err := whole.Check(t.Context(), s, "onefold"); err != nil {
		t.Error(err)
	}
	if did, err := apply(t, s, infra.Applying{}); err != nil || len(did) > 0 {
		t.Errorf("applied again: did %q, %v; want nothing", did, err)
	}
}

// TestApplyBringsATableToTheSchema checks that a table made by another program gets what it lacks,
// one update at a time, and loses nothing.
func TestApplyBringsATableToTheSchema(t *testing.T) {
	s := newService(t)
	in := whole.CreateTableInput("onefold")
	in.StreamSpecification = nil
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{in.GlobalSecondaryIndexes[0]}
	*in.GlobalSecondaryIndexes[0].IndexName = "theirs"
	in.AttributeDefinitions = in.AttributeDefinitions[:4]
	if _, err := s.API.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := whole.Check(t.Context(), s, "onefold"); err == nil || !strings.Contains(err.Error(), "no change stream") || !strings.Contains(err.Error(), "no index") || !strings.Contains(err.Error(), "do not expire") {
		t.Errorf("Check: %v; want the stream, an index and expiry", err)
	}
	var told []infra.Progress
	did, err := apply(t, s, infra.Applying{OnProgress: func(p infra.Progress) { told = append(told, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Check(t.Context(), s, "onefold"); err != nil {
		t.Error(err)
	}
	if want := 3 + len(whole.Indexes()); len(did) != want { // stream, protection, expiry
		t.Errorf("did %d things: %q; want %d", len(did), did, want)
	}
	done := 0
	for _, p := range told {
		if p.Done {
			done++
		}
	}
	if done != len(did) || len(told) < 3*len(did) {
		t.Errorf("told %d times, of which %d of an end, of %d steps", len(told), done, len(did))
	}
	for _, u := range s.updates {
		if len(u.GlobalSecondaryIndexUpdates) > 1 {
			t.Errorf("an update changes %d indexes", len(u.GlobalSecondaryIndexUpdates))
		}
	}
	did, err = apply(t, s, infra.Applying{Prune: true})
	if err != nil || !slices.Equal(did, []string{"remove index theirs"}) {
		t.Errorf("pruned %q, %v", did, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	other := func(change func(*dynamodb.CreateTableInput)) *service {
		s := newService(t)
		in := whole.CreateTableInput("onefold")
		change(in)
		if _, err := s.API.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for code, s := range map[string]*service{
		"breaks_keys": other(func(in *dynamodb.CreateTableInput) {
			in.KeySchema, in.AttributeDefinitions, in.GlobalSecondaryIndexes = in.KeySchema[:1], in.AttributeDefinitions[:1], nil
		}),
		"stream_view": other(func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
		}),
		"index_differs": other(func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection.ProjectionType = types.ProjectionTypeKeysOnly
		}),
		"no_effect": func() *service {
			s := other(func(in *dynamodb.CreateTableInput) { in.StreamSpecification = nil })
			s.ignores = func(in *dynamodb.UpdateTableInput) bool { return true }
			return s
		}(),
	} {
		if _, err := apply(t, s, infra.Applying{}); !errors.Is(err, infra.ErrDiffers) || !strings.Contains(err.Error(), code) {
			t.Errorf("%v; want %s", err, code)
		}
	}
	s := other(func(in *dynamodb.CreateTableInput) {
		in.GlobalSecondaryIndexes[0].Projection.ProjectionType = types.ProjectionTypeKeysOnly
	})
	if did, err := apply(t, s, infra.Applying{Prune: true}); err != nil || !strings.HasPrefix(did[0], "remove index") || !strings.HasPrefix(did[1], "add index") {
		t.Errorf("with Prune: did %q, %v", did, err)
	}
	soft := other(func(*dynamodb.CreateTableInput) {})
	soft.ignores = func(in *dynamodb.UpdateTableInput) bool { return in.DeletionProtectionEnabled != nil }
	if done, err := applied(t, soft, infra.Applying{}); err != nil || !slices.ContainsFunc(done.Lacks, func(lacks string) bool { return strings.HasPrefix(lacks, "protect") }) {
		t.Errorf("a server without deletion protection: %+v, %v", done, err)
	}
}

func ptr[T any](v T) *T { return &v }
