package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
)

// Projection is the interface of a projection that the server reports and lets people control.
// *projection.Projection implements it for every type of read model.
type Projection interface {
	Name() string
	Version() int
	ActiveVersion(context.Context) (projection.ActiveVersion, error)
	Parked(context.Context) ([]projection.Parked, error)
	Retry(context.Context) ([]projection.Parked, error)
	Rebuild(context.Context, projection.RebuildOptions) (projection.Comparison, error)
}

type projectionBody struct {
	Name    string       `json:"name"`
	Version int          `json:"version" doc:"The version in the running program."`
	Served  *servedBody  `json:"served,omitempty" doc:"The version being read. Absent if there is none yet and the projection has to be rebuilt."`
	Parked  int          `json:"parked" doc:"Number of dead-lettered aggregates: an event of theirs cannot be applied. Others continue."`
	Rebuild *rebuildBody `json:"rebuild,omitempty" doc:"The running rebuild, or the last one within a day."`
}

type servedBody struct {
	Version  int       `json:"version"`
	Previous int       `json:"previous,omitempty" doc:"The previous version, whose read models are kept until they are removed."`
	Since    time.Time `json:"since"`
}

type rebuildBody struct {
	Running    bool      `json:"running"`
	Stage      string    `json:"stage,omitempty" doc:"build, compare or follow."`
	Aggregates int64     `json:"aggregates" doc:"Aggregates completed in this stage."`
	Events     int64     `json:"events" doc:"Applied."`
	Began      time.Time `json:"began"`
	Ended      time.Time `json:"ended,omitzero"`
	Error      string    `json:"error,omitempty" doc:"Why it ended without a switch. Rebuild again to resume."`
	Same       int64     `json:"same" doc:"Read models that equal the active ones."`
	Different  int64     `json:"different" doc:"Read models that differ from the active ones."`
	Fewer      int64     `json:"fewer" doc:"Read models that lack events, because one cannot be applied."`
	Unserved   int64     `json:"unserved" doc:"Read models that have no active counterpart."`
}

type parkedBody struct {
	AggregateType string    `json:"aggregateType"`
	AggregateID   string    `json:"aggregateId"`
	Applied       int64     `json:"applied" doc:"The last event in the read model. The next event cannot be applied."`
	Version       int64     `json:"version" doc:"Version of the aggregate."`
	Reason        string    `json:"reason"`
	Since         time.Time `json:"since"`
}

type projectionsAnswer struct {
	Body struct {
		Feed        int64            `json:"feed" doc:"Position of the last append in the feed."`
		Projections []projectionBody `json:"projections" doc:"The projections of the running program, sorted by name."`
	}
}

type parkedAnswer struct {
	Body struct {
		Parked []parkedBody `json:"parked"`
	}
}

type projectionRequest struct {
	Name string `path:"projection" maxLength:"64" doc:"Name of the projection."`
}

func (s *Service) projectionRoutes(api huma.API) {
	const list, one = root + "/projections", root + "/projections/{projection}"
	huma.Register(api, operation(middleware.ForRead, "projections", http.MethodGet, list, "List the projections with their active versions and failures"), s.projections)
	huma.Register(api, operation(middleware.ForRead, "parked-aggregates", http.MethodGet, one+"/parked", "List the dead-lettered aggregates of a projection"), s.parked)
	retry := operation(middleware.ForWrite, "retry-parked", http.MethodPost, one+"/retry", "Retry dead-lettered aggregates after a fix")
	retry.Description = "Returns the aggregates that still fail."
	huma.Register(api, retry, s.retry)
	rebuild := operation(middleware.ForWrite, "rebuild-projection", http.MethodPost, one+"/rebuild", "Rebuild all read models, compare them with the active ones, and switch")
	rebuild.Description = "Runs in the background while appends continue; the list of projections has its progress. A new request resumes an interrupted rebuild."
	rebuild.DefaultStatus, rebuild.Errors = http.StatusAccepted, append(rebuild.Errors, http.StatusConflict)
	huma.Register(api, rebuild, s.rebuild)
}

func (s *Service) projections(ctx context.Context, _ *struct{}) (*projectionsAnswer, error) {
	answer := new(projectionsAnswer)
	answer.Body.Projections = []projectionBody{}
	head, err := s.store.FeedHead(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer.Body.Feed = head.Position
	for _, p := range s.o.Projections {
		body, err := s.describeProjection(ctx, p)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		answer.Body.Projections = append(answer.Body.Projections, body)
	}
	slices.SortFunc(answer.Body.Projections, func(a, b projectionBody) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return answer, nil
}

func (s *Service) describeProjection(ctx context.Context, p Projection) (projectionBody, error) {
	body := projectionBody{Name: p.Name(), Version: p.Version()}
	var err error
	if body.Rebuild, err = s.lastRebuild(ctx, p.Name()); err != nil {
		return body, err
	}
	active, err := p.ActiveVersion(ctx)
	if err == nil {
		body.Served = &servedBody{active.Version, active.Previous, active.Since}
	} else if !errors.Is(err, projection.ErrNotActive) {
		return body, err
	}
	parked, err := p.Parked(ctx)
	body.Parked = len(parked)
	return body, err
}

// lastRebuild returns the running or last rebuild of a projection, or nil if there was none
// recently.
func (s *Service) lastRebuild(ctx context.Context, name string) (*rebuildBody, error) {
	body, phase, err := s.rebuilds.Last(ctx, name)
	if err != nil || phase == jobs.None {
		return nil, err
	}
	if phase == jobs.Lost {
		body.Running, body.Error = false, "The server stopped during the rebuild. Rebuild again to resume."
	}
	return &body, nil
}

// projection returns the projection with a name.
func (s *Service) projection(name string) (Projection, error) {
	for _, p := range s.o.Projections {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, middleware.Problem(http.StatusNotFound, "no_such_projection", "The running program has no projection with this name.")
}

func (s *Service) parked(ctx context.Context, in *projectionRequest) (*parkedAnswer, error) {
	p, err := s.projection(in.Name)
	if err != nil {
		return nil, err
	}
	parked, err := p.Parked(ctx)
	return s.describeParked(ctx, parked, err)
}

func (s *Service) describeParked(ctx context.Context, parked []projection.Parked, err error) (*parkedAnswer, error) {
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(parkedAnswer)
	answer.Body.Parked = make([]parkedBody, len(parked))
	for i, p := range parked {
		answer.Body.Parked[i] = parkedBody{p.ID.Type, p.ID.ID, p.Applied, p.Version, p.Reason, p.Since}
	}
	return answer, nil
}

func (s *Service) retry(ctx context.Context, in *projectionRequest) (*parkedAnswer, error) {
	p, err := s.projection(in.Name)
	if err != nil {
		return nil, err
	}
	still, err := p.Retry(ctx)
	if err == nil {
		s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "projection.retry", Site: accounts.EventStore, Subject: in.Name})
	}
	return s.describeParked(ctx, still, err)
}

func (s *Service) rebuild(ctx context.Context, in *projectionRequest) (*struct{}, error) {
	p, err := s.projection(in.Name)
	if err != nil {
		return nil, err
	}
	job, err := s.rebuilds.Begin(ctx, rand.Text(), in.Name, rebuildBody{Running: true, Began: s.table.Now().UTC()})
	if errors.Is(err, jobs.ErrBusy) {
		return nil, middleware.Problem(http.StatusConflict, "rebuild_running", "A rebuild of this projection is running.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if !s.background.Start(func(ctx context.Context) { s.runRebuild(ctx, p, job) }) {
		return nil, s.mw.Error(ctx, errors.Join(middleware.ShuttingDown(), job.Drop(ctx)))
	}
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "projection.rebuild", Site: accounts.EventStore, Subject: in.Name})
	return nil, nil
}

// runRebuild rebuilds and stores the result.
func (s *Service) runRebuild(ctx context.Context, p Projection, job *jobs.Job[rebuildBody]) {
	differs, err := p.Rebuild(ctx, projection.RebuildOptions{CaughtUp: s.o.CaughtUp, Progress: func(at projection.Progress) {
		job.Change(func(r *rebuildBody) { r.Stage, r.Aggregates, r.Events = at.Stage, at.Aggregates, at.Events })
	}})
	if err != nil {
		s.mw.Logger.WarnContext(ctx, "rebuild ended without a switch", "projection", p.Name(), "error", err)
	}
	failed := err
	if err := job.End(context.WithoutCancel(ctx), func(r *rebuildBody) {
		r.Running, r.Ended = false, s.table.Now().UTC()
		r.Same, r.Different, r.Fewer, r.Unserved = differs.Same, differs.Different, differs.Fewer, differs.Inactive
		if failed != nil {
			r.Error = middleware.Detail(failed)
		}
	}); err != nil {
		s.mw.Logger.ErrorContext(ctx, "storing the result of a rebuild failed", "projection", p.Name(), "error", err)
	}
}
