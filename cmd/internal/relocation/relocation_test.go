package relocation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/relocation"
	"github.com/onefold/onefold/dynamo"
)

// marked answers each GetItem with the next of its states.
type marked struct {
	dynamo.API
	states []*relocation.State // nil: the store does not answer
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
	it, err := relocation.States.Encode(s)
	return &dynamodb.GetItemOutput{Item: it}, err
}

// Who works on a table learns of its move, whatever the store did before; and nothing else ends the watch.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &marked{states: []*relocation.State{{}, nil, {Phase: relocation.Finished}, {Phase: relocation.Away}}}
		if err := relocation.Watch(t.Context(), api, "onefold"); !errors.Is(err, relocation.ErrAway) {
			t.Errorf("got %v, want %v", err, relocation.ErrAway)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := relocation.Watch(ctx, &marked{states: []*relocation.State{{}}}, "onefold"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}
