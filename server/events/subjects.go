package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

const (
	erasureWait    = 45 * time.Second // how long a request waits for an erasure, which continues without it
	maxErasures    = 4                // at a time
	maxInReceipt   = 1000             // aggregates listed in a receipt
	noSuchSubject  = "No event has personal data of this person."
	noKeysOfPeople = "The server has no master key. Start it with --master-key-file."
)

// SubjectPath names a person.
type SubjectPath struct {
	Subject string `path:"subject" minLength:"1" maxLength:"256" doc:"ID of the person, as in events. Percent-encoded if it contains characters with a meaning in paths."`
}

type subjectRequest struct {
	SubjectPath
	PageParams
}

type aggregateName struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type subjectAnswer struct{ Body subjectBody }

type subjectBody struct {
	Subject    string          `json:"subject"`
	Created    time.Time       `json:"created" doc:"When the first event with personal data of the person was appended."`
	Erased     time.Time       `json:"erasedAt,omitzero" doc:"When the key of the person was deleted. Absent if the person was not erased."`
	Finished   time.Time       `json:"finishedAt,omitzero" doc:"When the last erasure found nothing left, not in the change stream either."`
	Aggregates []aggregateName `json:"aggregates" doc:"Aggregates with events about the person."`
	Cursor     string          `json:"cursor,omitempty" doc:"Cursor of the next page of aggregates, if there may be one."`
}

// erasureReceipt records what was done to erase a person.
type erasureReceipt struct {
	Subject    string          `json:"subject"`
	Erased     time.Time       `json:"erasedAt" doc:"When the key of the person was first deleted. Since then, nobody can read the personal data in the events."`
	Remade     time.Time       `json:"remadeAt" doc:"When snapshots and read models were first cleaned up."`
	Remains    time.Time       `json:"remainsUntil" doc:"Until when the change stream has earlier states of read models."`
	Finished   time.Time       `json:"finishedAt,omitzero" doc:"Absent before that. Erase again after remainsUntil to get a receipt with it."`
	Count      int             `json:"aggregateCount" doc:"Number of aggregates with events about the person."`
	Aggregates []aggregateName `json:"aggregates" doc:"The first 1,000 of them."`
	Snapshots  int             `json:"snapshots" doc:"Snapshots that this request deleted."`
	Released   int             `json:"released" doc:"Reserved values about the person that this request released."`
}

type erasureAnswer struct{ Body erasureReceipt }

func (s *Service) subjectRoutes(api huma.API) {
	const one = root + "/subjects/{subject}"
	get := operation(middleware.ForRead, "event-subject", http.MethodGet, one, "Get a person whom events have personal data of, with the aggregates")
	get.Errors = append(get.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(api, get, s.subject)
	erase := operation(middleware.ForWrite, "erase-subject", http.MethodPost, one+"/erase", "Erase a person: delete the key of the person's data in events, forever")
	erase.Description = `Events stay. Readers get ` + "`[forgotten]`" + ` in place of each text about the person, and null in place of other values; new events with personal data of the person are
refused: 409 ` + "`subject_erased`" + `. This server forgets the key at once, others within a minute. Repeat the request after an error.`
	erase.Errors = append(erase.Errors, http.StatusNotFound, http.StatusConflict, http.StatusGatewayTimeout)
	huma.Register(api, erase, s.eraseSubject)
}

// subjectError maps an error about a person to a response.
func (s *Service) subjectError(ctx context.Context, err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return middleware.Problem(http.StatusNotFound, "no_such_subject", noSuchSubject)
	}
	return s.mw.Error(ctx, err)
}

func (s *Service) subject(ctx context.Context, in *subjectRequest) (*subjectAnswer, error) {
	key := shred.SubjectKey{Subject: in.Subject}
	who, err := shred.SubjectByID.Get(ctx, s.table, key)
	if err != nil {
		return nil, s.subjectError(ctx, err)
	}
	page, err := shred.AggregatesOf.Page(ctx, s.table, key, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.subjectError(ctx, err)
	}
	answer := new(subjectAnswer)
	b := &answer.Body
	b.Subject, b.Created, b.Erased, b.Finished, b.Cursor = who.Subject, who.CreatedAt, who.Erased, who.Finished, page.Next
	b.Aggregates = make([]aggregateName, len(page.Items))
	for i, link := range page.Items {
		b.Aggregates[i] = aggregateName{link.Type, link.ID.ID}
	}
	return answer, nil
}

// eraseSubject erases a person in the background, because the request may end earlier. A request that
// comes meanwhile waits for the same erasure.
func (s *Service) eraseSubject(ctx context.Context, in *SubjectPath) (*erasureAnswer, error) {
	if s.o.Keys == nil {
		return nil, middleware.Problem(http.StatusConflict, "no_master_key", noKeysOfPeople)
	}
	actor := middleware.CallerOf(ctx).Actor
	done := s.erasures.DoChan(in.Subject, func() (any, error) { return s.eraseInBackground(in.Subject, actor) })
	timer := time.NewTimer(erasureWait)
	defer timer.Stop()
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, s.subjectError(ctx, r.Err)
		}
		return &erasureAnswer{r.Val.(erasureReceipt)}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, middleware.Problem(http.StatusGatewayTimeout, "still_running", "The erasure continues in the background. Repeat the request to wait for the receipt.")
}

// eraseInBackground erases a person, unless too many erasures are running or the server shuts down.
func (s *Service) eraseInBackground(subject, actor string) (erasureReceipt, error) {
	select {
	case s.erasing <- struct{}{}:
		defer func() { <-s.erasing }()
	default:
		return erasureReceipt{}, middleware.Problem(http.StatusConflict, "busy", "Other erasures are running. Try again when they have ended.")
	}
	var receipt shred.Receipt
	var err error
	ended := make(chan struct{})
	if !s.background.Start(func(ctx context.Context) {
		defer close(ended)
		receipt, err = s.erase(ctx, subject, actor)
	}) {
		return erasureReceipt{}, middleware.ShuttingDown()
	}
	<-ended
	return describeReceipt(&receipt), err
}

// erase erases a person and records who did it.
func (s *Service) erase(ctx context.Context, subject, actor string) (shred.Receipt, error) {
	receipt, err := s.o.Keys.Erase(ctx, subject)
	if !receipt.Erased.IsZero() { // the key is deleted, whatever came after
		s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "subject.erase", Site: accounts.EventStore, Subject: subject})
	}
	if err != nil && !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrKeyValue) {
		s.mw.Logger.WarnContext(ctx, "an erasure was interrupted; it can be requested again", "error", err)
	}
	return receipt, err
}

func describeReceipt(r *shred.Receipt) erasureReceipt {
	described := erasureReceipt{r.Subject, r.Erased, r.Remade, r.Remains, r.Finished, len(r.Aggregates), []aggregateName{}, r.Snapshots, r.Released}
	for _, id := range r.Aggregates[:min(len(r.Aggregates), maxInReceipt)] {
		described.Aggregates = append(described.Aggregates, aggregateName{id.Type, id.ID})
	}
	return described
}
