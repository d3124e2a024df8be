package notices

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table/delivery"
)

type messagesRequest struct {
	middleware.SitePath
	State  delivery.State `query:"state" enum:"waiting,sent,skipped,dead" doc:"Default: all."`
	Cursor string         `query:"cursor" doc:"From the previous page."`
	Limit  int            `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of results."`
}

type messagePath struct {
	middleware.SitePath
	Message string `path:"message" maxLength:"300" doc:"ID of the message."`
}

type messageBody struct {
	ID        string          `json:"id"`
	Channel   string          `json:"channel"`
	To        string          `json:"to,omitempty" doc:"Recipient of mail."`
	Event     string          `json:"event" doc:"Such as report.weekly."`
	Title     string          `json:"title"`
	Content   json.RawMessage `json:"content" doc:"As in the body of a webhook."`
	State     delivery.State  `json:"state" enum:"waiting,sent,skipped,dead"`
	Due       time.Time       `json:"due,omitzero" doc:"When delivery is tried next, if it is waiting."`
	Attempts  int             `json:"attempts"`
	LastError string          `json:"lastError,omitempty"`
	CreatedAt time.Time       `json:"createdAt"`
	SentAt    time.Time       `json:"sentAt,omitzero"`
}

func describeMessage(n *notify.Notification) messageBody {
	b := messageBody{
		ID: n.NotificationID, Channel: n.ChannelID, To: n.To, Event: n.Event, Title: n.Title, Content: json.RawMessage(n.Content),
		State: n.State, Attempts: n.Attempts, LastError: n.LastError, CreatedAt: n.CreatedAt, SentAt: n.SentAt,
	}
	if n.State == delivery.Waiting {
		b.Due = n.Due
	}
	return b
}

type messagesAnswer struct {
	Body struct {
		Messages []messageBody `json:"messages" doc:"Latest first."`
		Cursor   string        `json:"cursor,omitempty"`
	}
}

type messageAnswer struct{ Body messageBody }

func (s *Service) messageRoutes(api huma.API) {
	const list = sitePath + "/messages"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "messages", Method: http.MethodGet, Path: list, Summary: "List the messages about a site with their delivery", Tags: tags,
	}), s.messages)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "resend-message", Method: http.MethodPost, Path: list + "/{message}/resend", DefaultStatus: http.StatusAccepted,
		Summary: "Retry a failed or skipped message", Description: "Messages in other states are left unchanged.", Tags: tags, Errors: []int{http.StatusNotFound},
	}), s.resend)
}

func (s *Service) messages(ctx context.Context, in *messagesRequest) (*messagesAnswer, error) {
	if _, err := analytics.GetSite(ctx, s.table, in.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, err := notify.NotificationsOfSite.Page(ctx, s.table, notify.NotificationsIn{SiteID: in.Site, State: in.State}, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(messagesAnswer)
	answer.Body.Messages, answer.Body.Cursor = make([]messageBody, len(page.Items)), page.Next
	for i := range page.Items {
		answer.Body.Messages[i] = describeMessage(&page.Items[i])
	}
	return answer, nil
}

func (s *Service) resend(ctx context.Context, in *messagePath) (*messageAnswer, error) {
	n, err := notify.Resend(ctx, s.table, notify.NotificationKey{SiteID: in.Site, NotificationID: in.Message})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "message.resend", in.Site, in.Message, nil, nil)
	return &messageAnswer{describeMessage(&n)}, nil
}
