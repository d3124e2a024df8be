package webanalytics

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// erasureWait is how long a request waits for an erasure, which reads all raw events of the site.
// The erasure continues without the request.
const erasureWait = 45 * time.Second

type erasureRequest struct {
	middleware.SitePath
	Body struct {
		UserID    string `json:"userId,omitempty" maxLength:"128" doc:"The user ID that the site sent. Give either this or sessionId."`
		SessionID string `json:"sessionId,omitempty" maxLength:"64" doc:"A session. The visitor's whole day is erased."`
	}
}

type erasureAnswer struct{ Body erasure.Receipt }

type receiptsRequest struct {
	middleware.SitePath
	Cursor string `query:"cursor" maxLength:"2048" doc:"Where to continue: the cursor of the previous response."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of results."`
}

type receiptsAnswer struct {
	Body struct {
		Receipts []erasure.Receipt `json:"receipts"`
		Cursor   string            `json:"cursor,omitempty" doc:"From the previous page."`
	}
}

func (s *Service) erasureRoutes(api huma.API) {
	const path = "/api/v1/sites/{site}/erasure"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "erase", Method: http.MethodPost, Path: path, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Erase a person",
		Description: "Deletes raw events, visits and sessions, and subtracts them from statistics. The receipt does not identify the person.",
		Tags:        []string{"privacy"}, Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusGatewayTimeout},
	}), s.erase)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "erasures", Method: http.MethodGet, Path: path, Summary: "List erasure receipts, newest first", Tags: []string{"privacy"},
	}), s.erasures)
}

func (s *Service) erase(ctx context.Context, in *erasureRequest) (*erasureAnswer, error) {
	if (in.Body.UserID == "") == (in.Body.SessionID == "") {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "Give either userId or sessionId.")
	}
	select {
	case s.erasing <- struct{}{}:
	default:
		return nil, middleware.Problem(http.StatusConflict, "busy", "Another erasure is running. Try again when it has ended.")
	}
	done := make(chan erased, 1)
	actor := middleware.CallerOf(ctx).Actor
	if !s.background.Start(func(ctx context.Context) {
		e := s.runErasure(ctx, in, actor)
		<-s.erasing // freed before the caller learns of the end and sends the next request
		done <- e
	}) {
		<-s.erasing
		return nil, middleware.ShuttingDown()
	}
	timer := time.NewTimer(erasureWait)
	defer timer.Stop()
	select {
	case e := <-done:
		if e.err != nil {
			return nil, s.mw.Error(ctx, e.err)
		}
		return &erasureAnswer{e.receipt}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, middleware.Problem(http.StatusGatewayTimeout, "still_running", "The erasure continues in the background. Its receipt will be listed with those of the site.")
}

type erased struct {
	receipt erasure.Receipt
	err     error
}

func (s *Service) runErasure(ctx context.Context, in *erasureRequest, actor string) (e erased) {
	if in.Body.UserID != "" {
		e.receipt, e.err = erasure.User(ctx, s.table, s.worker, in.Site, in.Body.UserID)
	} else {
		e.receipt, e.err = erasure.Visitor(ctx, s.table, s.worker, in.Site, in.Body.SessionID)
	}
	if e.err == nil {
		s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "erasure", Site: in.Site, Subject: e.receipt.ReceiptID})
	} else if !errors.Is(e.err, erasure.ErrNobody) {
		s.mw.Logger.WarnContext(ctx, "an erasure was interrupted; it can be requested again", "site", in.Site, "error", e.err)
	}
	return e
}

func (s *Service) erasures(ctx context.Context, in *receiptsRequest) (*receiptsAnswer, error) {
	page, err := erasure.ReceiptsOfSite.Page(ctx, s.table, analytics.SiteIn{SiteID: in.Site}, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(receiptsAnswer)
	answer.Body.Receipts, answer.Body.Cursor = page.Items, page.Next
	if page.Items == nil {
		answer.Body.Receipts = []erasure.Receipt{}
	}
	return answer, nil
}
