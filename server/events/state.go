package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// stateFor limits how long computing a state may take.
const stateFor = 20 * time.Second

type stateRequest struct {
	AggregatePath
	Version int64 `query:"version" minimum:"0" doc:"After this event. Default: after the last."`
}

type snapshotRequest struct {
	AggregatePath
	Version int64 `query:"version" minimum:"0" maximum:"999999999999" doc:"The last snapshot without an event after this one. Default: the last of all."`
}

type stateBody struct {
	Version int64          `json:"version" doc:"Number of the last event included."`
	At      time.Time      `json:"at,omitzero" doc:"When that event was recorded."`
	Silent  int64          `json:"silent" doc:"Number of events that add nothing, because their data is not an object."`
	Fields  map[string]any `json:"fields" doc:"The last value of each field in the events."`
}

type stateAnswer struct{ Body stateBody }

type snapshotBody struct {
	Version int64           `json:"version" doc:"Number of the last event included."`
	Reducer int             `json:"reducer" doc:"Version of the reducer that made the snapshot."`
	Made    time.Time       `json:"made"`
	State   json.RawMessage `json:"state,omitempty"`
	Binary  []byte          `json:"binary,omitempty" doc:"The state in base64, if it is not JSON."`
}

type snapshotAnswer struct{ Body snapshotBody }

func (s *Service) stateRoutes(api huma.API) {
	state := operation(middleware.ForRead, "aggregate-state", http.MethodGet, aggregatePath+"/state", "Get the state of an aggregate at any version")
	state.Description = "Computed from the events without knowing their meaning: the last value of each field of their data, with nested objects merged. The state that a program derives is in its projections and snapshots."
	huma.Register(api, state, s.state)
	huma.Register(api, operation(middleware.ForRead, "aggregate-snapshot", http.MethodGet, aggregatePath+"/snapshot", "Get the snapshot of an aggregate, as its program made it"), s.snapshot)
}

func (s *Service) state(ctx context.Context, in *stateRequest) (*stateAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, stateFor)
	defer cancel()
	head, err := s.readable(ctx, &in.AggregatePath)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if in.Version > head.Version {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "bad_version", "The stream has fewer events.")
	}
	to := in.Version
	if to == 0 {
		to = head.Version
	}
	var state eventjson.State
	answer := new(stateAnswer)
	for e, err := range s.storeFor(ctx).Read(ctx, in.id(), eventstore.To(to)) {
		if err == nil {
			shred.Redact(&e)
			err = state.Add(&e)
		}
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		answer.Body.Version, answer.Body.At = e.Seq, e.RecordedAt
	}
	answer.Body.Silent, answer.Body.Fields = state.Silent, state.Fields
	if state.Fields == nil {
		answer.Body.Fields = map[string]any{}
	}
	return answer, nil
}

// snapshotAt returns the last snapshot up to a version; 0: the last of all. Errors: table.ErrNotFound.
func (s *Service) snapshotAt(ctx context.Context, id eventstore.ID, version int64) (eventstore.Snapshot, error) {
	snap, err := eventstore.SnapshotByID.Get(ctx, s.table, eventstore.SnapshotKey{ID: id})
	if errors.Is(err, table.ErrNotFound) && version > 0 || err == nil && version > 0 && snap.LastSeq > version {
		past, ok, err := s.store.PastSnapshotAt(ctx, id, version)
		if err == nil && !ok {
			err = table.ErrNotFound
		}
		return eventstore.Snapshot{SnapshotKey: eventstore.SnapshotKey{ID: id}, LastSeq: past.LastSeq, Reducer: past.Reducer, State: past.State, MadeAt: past.MadeAt}, err
	}
	return snap, err
}

func (s *Service) snapshot(ctx context.Context, in *snapshotRequest) (*snapshotAnswer, error) {
	if _, err := s.readable(ctx, &in.AggregatePath); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	snap, err := s.snapshotAt(ctx, in.id(), in.Version)
	opened := err == nil
	if opened {
		snap.State, opened, err = s.storeFor(ctx).OpenState(ctx, in.id(), snap.State)
	}
	if err == nil && !opened && s.hides(ctx) {
		return nil, middleware.Problem(http.StatusForbidden, "personal_data", "This snapshot has personal data. Use a key that may see it.")
	}
	if err == nil && !opened || errors.Is(err, table.ErrNotFound) {
		return nil, middleware.Problem(http.StatusNotFound, "no_snapshot", "This aggregate has no such snapshot.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &snapshotAnswer{snapshotBody{Version: snap.LastSeq, Reducer: snap.Reducer, Made: snap.MadeAt}}
	if json.Valid(snap.State) {
		answer.Body.State = json.RawMessage(snap.State)
	} else {
		answer.Body.Binary = snap.State
	}
	return answer, nil
}
