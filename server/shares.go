package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type shareBody struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
	Password bool       `json:"password" doc:"The view requires a password."`
	Embed    []string   `json:"embed" doc:"Origins whose pages may show it in a frame."`
	Segment  *shareOf   `json:"segment,omitempty" doc:"The only visits that it shows. Absent: all."`
	Token    string     `json:"token,omitempty" doc:"Returned once, when the share is created. The view is at /share/TOKEN."`
}

// shareOf is the segment of a share, as it was when the share was created.
type shareOf struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Filters []string `json:"filters"`
}

func describeShare(sh *accounts.Share, token string) shareBody {
	body := shareBody{ID: sh.ShareID, Name: sh.Name, Created: sh.Created, Password: sh.Password != "", Embed: sh.Embed, Token: token}
	if !sh.Expires.IsZero() {
		body.Expires = &sh.Expires
	}
	if sh.Segment != nil {
		body.Segment = &shareOf{sh.Segment.ID, sh.Segment.Name, sh.Segment.Filters}
	}
	if body.Embed == nil {
		body.Embed = []string{}
	}
	return body
}

type shareAnswer struct{ Body shareBody }

type sharesAnswer struct {
	Body struct {
		Shares []shareBody `json:"shares"`
	}
}

type newShareRequest struct {
	middleware.SitePath
	Body struct {
		Name     string    `json:"name,omitempty" maxLength:"100"`
		Password string    `json:"password,omitempty" maxLength:"256" doc:"At least 10 characters. Default: no password."`
		Expires  time.Time `json:"expires,omitzero" doc:"Default: never."`
		Embed    []string  `json:"embed,omitempty" maxItems:"20" doc:"Origins such as https://example.com whose pages may show it in a frame."`
		Segment  string    `json:"segment,omitempty" maxLength:"80" doc:"ID or name of a segment whose visits are all that the link shows. Default: all visits."`
	}
}

type shareRequest struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"32" doc:"ID of the shared view."`
}

func (s *Server) shareRoutes(api huma.API) {
	const list, one = "/api/v1/sites/{site}/shares", "/api/v1/sites/{site}/shares/{id}"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "shares", Method: http.MethodGet, Path: list, Summary: "List the shared views of a site", Tags: []string{"sharing"},
	}), s.shares)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-share", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Share a site's statistics by link", Tags: []string{"sharing"},
	}), s.addShare)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "revoke-share", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Revoke a shared view", Tags: []string{"sharing"},
	}), s.revokeShare)
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "open-share", Method: http.MethodPost, Path: "/api/v1/shared/{token}", MaxBodyBytes: middleware.MaxSmallBody,
		Summary:     "Open a shared view",
		Description: "Sets a cookie. The response has the same token as `access`, to send as a bearer token where cookies are not kept.",
		Tags:        []string{"sharing"}, Errors: []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests},
	}), s.openShare)
}

func (s *Server) shares(ctx context.Context, in *middleware.SitePath) (*sharesAnswer, error) {
	shares, err := s.o.Accounts.Shares(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(sharesAnswer)
	answer.Body.Shares = described(shares, func(share *accounts.Share) shareBody { return describeShare(share, "") })
	return answer, nil
}

func (s *Server) addShare(ctx context.Context, in *newShareRequest) (*shareAnswer, error) {
	site, err := analytics.GetSite(ctx, s.o.Table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	segment, err := s.sharedSegment(ctx, &site, in.Body.Segment)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	who := middleware.CallerOf(ctx)
	n := accounts.NewShare{Name: in.Body.Name, Site: in.Site, Password: in.Body.Password, Expires: in.Body.Expires, Embed: in.Body.Embed, Creator: who.Behind, Segment: segment}
	share, token, err := s.o.Accounts.AddShare(ctx, n)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: who.Actor, Action: "share.create", Site: in.Site, Subject: share.ShareID}, nil, describeShare(&share, ""))
	return &shareAnswer{describeShare(&share, token)}, nil
}

// sharedSegment returns the segment that a new share is restricted to, or nil. On a public site, such a
// share would only look restricted.
func (s *Server) sharedSegment(ctx context.Context, site *analytics.Site, name string) (*accounts.ShareSegment, error) {
	if name == "" {
		return nil, nil
	}
	if site.Public {
		return nil, middleware.Problem(http.StatusConflict, "site_public", "The site is public, so everyone sees all its statistics. Make it private before sharing only a segment.")
	}
	found, err := segments.Find(ctx, s.o.Table, site.SiteID, name)
	if err != nil {
		return nil, err
	}
	return &accounts.ShareSegment{ID: found.SegmentID, Name: found.Name, Filters: found.Filters}, nil
}

func (s *Server) revokeShare(ctx context.Context, in *shareRequest) (*struct{}, error) {
	share, err := s.o.Accounts.RevokeShare(ctx, in.Site, in.ID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "share.revoke", Site: in.Site, Subject: in.ID}, describeShare(&share, ""), nil)
	return nil, nil
}

type openShareRequest struct {
	Token string `path:"token" maxLength:"128" doc:"Token of the link."`
	Body  struct {
		Password string `json:"password,omitempty" maxLength:"1024"`
	}
}

type openShareAnswer struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
	Body      struct {
		Site struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			TimeZone string `json:"timezone"`
		} `json:"site"`
		Access  string    `json:"access" doc:"For Authorization: Bearer."`
		Expires time.Time `json:"expires"`
	}
}

// openShare gives a caller with the link, and the password if there is one, access to the site's
// statistics for a day.
func (s *Server) openShare(ctx context.Context, in *openShareRequest) (*openShareAnswer, error) {
	who := middleware.CallerOf(ctx)
	share, err := s.o.Accounts.FindShare(ctx, in.Token)
	switch {
	case errors.Is(err, accounts.ErrDenied):
		return nil, middleware.Problem(http.StatusNotFound, "not_found", "This link is no longer valid.")
	case err != nil:
		return nil, s.mw.Error(ctx, err)
	case share.Password != "" && in.Body.Password == "":
		return nil, middleware.Problem(http.StatusUnauthorized, "password_required", "This view requires a password.")
	case share.Password != "":
		if err := s.mw.LimitAttempts(who, "share "+share.ShareID, ""); err != nil {
			return nil, err
		}
	}
	share, login, err := s.o.Accounts.OpenShare(ctx, in.Token, in.Body.Password)
	if errors.Is(err, accounts.ErrDenied) {
		return nil, middleware.Problem(http.StatusUnauthorized, "bad_password", "The password is wrong.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if share.Password != "" {
		s.mw.ResetAttempts(who, "share "+share.ShareID, "")
	}
	site, err := analytics.GetSite(ctx, s.o.Table, share.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &openShareAnswer{SetCookie: []http.Cookie{s.shareCookie(&share, login, who.Secure)}}
	answer.Body.Site.ID, answer.Body.Site.Name, answer.Body.Site.TimeZone = site.SiteID, cmp.Or(site.Name, site.SiteID), site.TimeZone
	answer.Body.Access, answer.Body.Expires = login.Token, login.Expires
	return answer, nil
}

// shareCookie returns middleware.ShareCookie. If the share may be embedded, browsers also keep it in a
// frame of another site: it only reads statistics. Without TLS, browsers do not keep such a cookie.
func (s *Server) shareCookie(share *accounts.Share, login accounts.Login, secure bool) http.Cookie {
	cookie := s.cookie(middleware.ShareCookie, login, secure)
	if secure && len(share.Embed) > 0 {
		cookie.SameSite, cookie.Partitioned = http.SameSiteNoneMode, true
	}
	return cookie
}
