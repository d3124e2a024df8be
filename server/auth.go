package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// permission is what an operation asks of whoever calls it. On operations of one site it is meant for that site.
type permission int

const (
	forAnyone     permission = iota + 1 // ingest, health, logging in
	forSomebody                         // anyone who is known: a person, a key, the token
	forPerson                           // somebody who logged in
	forStatistics                       // sees figures that tell of nobody: shared and public views may, too
	forRead                             // sees everything
	forWrite                            // changes settings
	forOwner                            // deletes the site; a person
	forNewSites                         // makes sites
	forAccounts                         // looks after accounts; a person
)

const (
	permissionKey = "permission" // of an operation's metadata
	tokenScheme   = "token"
	sessionScheme = "session"
)

// guard declares what an operation needs. Every operation is declared; New fails for one that is not.
func guard(need permission, op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{permissionKey: need}
	if need != forAnyone {
		op.Security = []map[string][]string{{tokenScheme: {}}, {sessionScheme: {}}}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	return op
}

// checkGuards fails when an operation does not say what it needs.
func checkGuards(api huma.API) error {
	for path, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options} {
			if op == nil {
				continue
			}
			if _, ok := op.Metadata[permissionKey].(permission); !ok {
				return fmt.Errorf("server: %s %s does not declare what it needs: register it with guard", op.Method, path)
			}
		}
	}
	return nil
}

// authorize is the one place that decides whether an operation is done: who asks, for which site, for what.
func (s *Server) authorize(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := s.admit(ctx)
		if err != nil {
			s.refuse(api, ctx, err)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, who))
	}
}

// admit finds out who calls, and refuses an operation that they may not do.
func (s *Server) admit(ctx huma.Context) (*caller, error) {
	r, _ := humago.Unwrap(ctx)
	need, _ := ctx.Operation().Metadata[permissionKey].(permission)
	who := &caller{secure: s.overTLS(r), network: network(r.RemoteAddr)}
	if need != forAnyone {
		if err := s.identify(ctx.Context(), r, who); err != nil {
			return nil, err
		}
		if err := s.limitGuests(who); err != nil {
			return nil, err
		}
		if err := s.permit(ctx.Context(), who, need, ctx.Param("site")); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		if err := s.checkOrigin(r, who); err != nil {
			return nil, err
		}
		if err := checkQuery(ctx.Operation(), r); err != nil {
			return nil, err
		}
	}
	return who, nil
}

// limitGuests bounds how much those ask who have no role anywhere: public views are for everyone, and every question costs
// reads.
func (s *Server) limitGuests(who *caller) error {
	if who.may(forSomebody, "") {
		return nil
	}
	if wait, ok := s.guests.allow(who.network, 1); !ok {
		return rateLimited("questions of this network", wait)
	}
	return nil
}

// identify fills in who calls: by the Authorization header if there is one, else by a cookie.
func (s *Server) identify(ctx context.Context, r *http.Request, who *caller) error {
	err := accounts.ErrDenied
	session, _ := r.Cookie(sessionCookie)
	if share, _ := r.Cookie(shareCookie); share != nil {
		who.shareCookie = share.Value
	}
	if header := r.Header.Get("Authorization"); header != "" {
		who.shareCookie = ""
		err = s.identifyBearer(ctx, header, who)
	} else if session != nil {
		err = s.identifySession(ctx, session.Value, who)
	}
	if errors.Is(err, accounts.ErrDenied) && who.shareCookie != "" {
		err = s.identifyShare(ctx, who.shareCookie, who)
	}
	if errors.Is(err, accounts.ErrDenied) {
		return nil // nobody: a public view may still be for them
	}
	return err
}

func (s *Server) identifyBearer(ctx context.Context, header string, who *caller) error {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return accounts.ErrDenied
	}
	if sum := sha256.Sum256([]byte(token)); s.o.Token != "" && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1 {
		who.actor, who.grants = "token", accounts.Grants{accounts.AllSites: accounts.Viewer}
		return nil
	}
	if !accounts.IsKey(token) {
		return s.identifyShare(ctx, token, who)
	}
	key, err := s.o.Accounts.UseKey(ctx, token)
	if err != nil {
		return err
	}
	who.actor, who.grants = "key:"+key.KeyID, keyGrants(key)
	return nil
}

// keyGrants are the roles that a key stands for. One that only sends events has none.
func keyGrants(k accounts.Key) accounts.Grants {
	switch k.Scope {
	case accounts.Read:
		return accounts.Grants{k.Site: accounts.Viewer}
	case accounts.Write:
		return accounts.Grants{k.Site: accounts.Admin}
	}
	return accounts.Grants{}
}

func (s *Server) identifySession(ctx context.Context, token string, who *caller) error {
	user, login, err := s.o.Accounts.Resume(ctx, token)
	if err != nil {
		return err
	}
	who.actor, who.grants, who.user, who.login = "user:"+user.UserID, user.Grants, &user, login
	return nil
}

func (s *Server) identifyShare(ctx context.Context, token string, who *caller) error {
	share, err := s.o.Accounts.ResumeShare(ctx, token)
	if err != nil {
		return err
	}
	if who.actor == "" {
		who.actor = "share:" + share.ShareID
	}
	who.shared = share.Site
	return nil
}

// permit refuses a caller who may not do what is asked.
func (s *Server) permit(ctx context.Context, who *caller, need permission, site string) error {
	if who.may(need, site) {
		return nil
	}
	if need == forStatistics {
		open, err := s.isOpen(ctx, who, site)
		if err != nil || open {
			return err
		}
	}
	if who.actor == "" {
		return problem(http.StatusUnauthorized, "unauthorized", "Log in, or send a key: Authorization: Bearer <key>.")
	}
	return problem(http.StatusForbidden, "forbidden", "This is not for you. An owner of the installation can give you a role on the site.")
}

// isOpen reports whether a site shows its statistics to someone without a role on it: to everyone, or by a link that the
// caller has opened, beside being logged in as somebody who has no role.
func (s *Server) isOpen(ctx context.Context, who *caller, site string) (bool, error) {
	if who.shared == "" && who.shareCookie != "" {
		if err := s.identifyShare(ctx, who.shareCookie, who); err != nil && !errors.Is(err, accounts.ErrDenied) {
			return false, err
		}
	}
	if who.may(forStatistics, site) {
		return true, nil
	}
	return s.isPublic(ctx, site)
}

// isPublic reports whether a site shows its statistics to everyone.
func (s *Server) isPublic(ctx context.Context, site string) (bool, error) {
	found, err := analytics.GetSite(ctx, s.o.Table, site)
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return false, nil
	}
	return found.Public, err
}

// checkOrigin refuses requests that change something and that a page of elsewhere made a browser send.
func (s *Server) checkOrigin(r *http.Request, who *caller) error {
	if err := s.origins.Check(r); err != nil {
		return problem(http.StatusForbidden, "cross_origin", "Pages of other origins may not do this.")
	}
	if who.user == nil || safeMethod(r.Method) {
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-CSRF-Token")), []byte(accounts.CSRF(who.login.Token))) != 1 {
		return problem(http.StatusForbidden, "csrf", "Send the header X-CSRF-Token with the csrf of GET /api/v1/me.")
	}
	return nil
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// checkQuery refuses parameters that the operation does not know: a filter with a typing error must not be ignored.
func checkQuery(op *huma.Operation, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "bad_query", "The query string cannot be read.")
	}
	var known []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	for name := range query {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return problem(http.StatusBadRequest, "unknown_parameter", "There is a query parameter that this operation does not have. It has: "+strings.Join(known, ", ")+".")
		}
	}
	return nil
}

// overTLS reports whether the client came over TLS, here or at the proxy in front.
func (s *Server) overTLS(r *http.Request) bool {
	return r.TLS != nil || s.o.TrustProxy && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// refuse answers a request that goes no further.
func (s *Server) refuse(api huma.API, ctx huma.Context, err error) {
	var p *huma.ErrorModel
	if !errors.As(err, &p) {
		if err = s.httpError(ctx.Context(), err); !errors.As(err, &p) {
			p = problem(http.StatusInternalServerError, "internal", "Something went wrong here.")
		}
	}
	var extra huma.HeadersError
	if errors.As(err, &extra) {
		for name, values := range extra.GetHeaders() {
			ctx.SetHeader(name, values[0])
		}
	}
	if p.Status == http.StatusUnauthorized {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="onefold"`)
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(p.Status)
	if err := api.Marshal(ctx.BodyWriter(), "application/json", p); err != nil {
		s.o.Logger.Warn("answer not written", "error", err)
	}
}
