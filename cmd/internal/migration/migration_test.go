package migration_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/dynamo"
)

// marked returns its states, one per GetItem.
type marked struct {
	dynamo.API
	states  []*migration.State // nil: no response
	refuses error              // error of every put
}

func (m *marked) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, m.refuses
}

func (m *marked) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	s := m.states[0]
	if len(m.states) > 1 {
		m.states = m.states[1:]
	}
	if s == nil {
		return nil, errors.New("away")
	}
	if s.Phase == "" {
		return &dynamodb.GetItemOutput{}, nil
	}
	it, err := migration.States.Encode(s)
	return &dynamodb.GetItemOutput{Item: it}, err
}

// A process that uses a table notices its migration, whatever the store did before. Nothing else
// ends the watch.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &marked{states: []*migration.State{{}, nil, {Phase: migration.Finished}, {Phase: migration.Away}}}
		if err := migration.Watch(t.Context(), api, "onefold"); !errors.Is(err, migration.ErrAway) {
			t.Errorf("got %v, want %v", err, migration.ErrAway)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := migration.Watch(ctx, &marked{states: []*migration.State{{}}}, "onefold"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// A guarded table responds only if a recent check found that it is here. Otherwise it checks again,
// and a failed check is not a success. Away takes precedence over the result of the request.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &marked{states: []*migration.State{{}, nil, {}, {Phase: migration.Leaving}}}
		api := migration.Guard(table, "onefold")
		ask := func() error {
			_, err := api.PutItem(t.Context(), &dynamodb.PutItemInput{})
			return err
		}
		for _, want := range []struct {
			after time.Duration
			ok    bool
			left  int // states left
		}{{0, true, 3}, {7 * time.Second, true, 3}, {2 * time.Second, false, 2}, {0, true, 1}, {7 * time.Second, true, 1}, {time.Hour, false, 1}, {0, false, 1}} {
			time.Sleep(want.after)
			if err := ask(); (err == nil) != want.ok || len(table.states) != want.left {
				t.Errorf("at %s: %v and %d states, want ok %v and %d", time.Now(), err, len(table.states), want.ok, want.left)
			}
		}
		table.refuses = &types.ConditionalCheckFailedException{}
		failure, ok := dynamo.GaveUp(ask())
		if err := ask(); !ok || failure.Kind != dynamo.Moved || !errors.Is(err, migration.ErrAway) {
			t.Errorf("got %v, want %v", err, migration.ErrAway)
		}
	})
}
