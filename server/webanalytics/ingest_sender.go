package webanalytics

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// Sender is the sender of a request. Neither its address nor its user agent is stored or logged.
type Sender struct {
	UserAgent string `header:"User-Agent"`
	address   string
	dnt, gpc  bool
	header    func(name string) string // reads a request header; nil for a visitor described by a server
}

// Resolve fills in what huma has no tag for, or what is omitted from the API document.
func (s *Sender) Resolve(ctx huma.Context) []error {
	s.address, s.header = ctx.RemoteAddr(), ctx.Header
	s.dnt, s.gpc = ctx.Header("DNT") == "1", ctx.Header("Sec-GPC") == "1"
	return nil
}

// Visitor describes the visitor of an event that a server sends on behalf of the visitor's browser.
type Visitor struct {
	_         struct{} `additionalProperties:"true"`
	Address   string   `json:"address" maxLength:"64" doc:"IP address of the visitor. Used to compute the visitor ID and location, then discarded."`
	UserAgent string   `json:"userAgent" maxLength:"2048" doc:"User agent of the visitor's browser."`
}

// onBehalfOf returns the visitor as the sender of an event.
func (s *Sender) onBehalfOf(v *Visitor) Sender {
	return Sender{UserAgent: v.UserAgent, address: v.Address, dnt: s.dnt, gpc: s.gpc}
}

// identifiesVisitors reports whether the events describe their visitors, which requires a key: otherwise
// anybody could invent visitors, each with another address.
func (s *Service) identifiesVisitors(ctx context.Context, site string, from *Sender, events []Event) (bool, error) {
	if !slices.ContainsFunc(events, func(e Event) bool { return e.Visitor != nil }) {
		return false, nil
	}
	token, ok := strings.CutPrefix(from.header("Authorization"), "Bearer ")
	if !ok || !accounts.IsKey(token) {
		return false, middleware.Problem(http.StatusUnauthorized, "unauthorized", "Events with a visitor need a key of the site: Authorization: Bearer <key>.")
	}
	key, err := s.mw.SenderKey(ctx, token)
	if err != nil && !errors.Is(err, accounts.ErrDenied) {
		return false, s.mw.Error(ctx, err)
	}
	if err != nil || key.Scope == accounts.Read || key.Site != site && key.Site != accounts.AllSites {
		return false, middleware.Problem(http.StatusForbidden, "forbidden", "This key may not send events of this site. Create a key with scope ingest.")
	}
	return true, nil
}
