package middleware

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/accounts"
)

const apiPrefix = "/api/v1/"

// Cookies of a session, of an opened shared view, and of a browser that somebody has logged in
// with.
const (
	SessionCookie = "onefold_session"
	ShareCookie   = "onefold_share"
	BrowserCookie = "onefold_browser"
)

// Authorize is the middleware that decides whether a caller may run an operation. It is the only
// place that does.
func (s *Stack) Authorize(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := s.authorize(ctx)
		if err != nil {
			s.WriteError(api, ctx, err)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, who))
	}
}

// authorize identifies the caller, and rejects operations that the caller is not authorized for.
func (s *Stack) authorize(ctx huma.Context) (*Caller, error) {
	r, _ := humago.Unwrap(ctx)
	need, _ := ctx.Operation().Metadata[permissionKey].(Permission)
	who := &Caller{Secure: s.OverTLS(r), Network: Network(r.RemoteAddr), Agent: r.UserAgent(), Place: placeOf(ctx)}
	if need != ForAnyone {
		if err := s.identify(ctx.Context(), withBasic(ctx.Operation(), r), who); err != nil {
			return nil, err
		}
		if err := s.limitCaller(who); err != nil {
			return nil, err
		}
		if err := s.RequirePermission(ctx.Context(), who, need, who.Place); err != nil {
			return nil, err
		}
		if who.Restriction() != nil && ctx.Operation().Metadata[restrictionKey] == nil {
			return nil, Problem(http.StatusForbidden, SegmentOnly, "This link shows only one segment. This part of the statistics cannot be filtered by it.")
		}
		if who.Limits.Any() {
			if err := checkLimits(ctx, who); err != nil {
				return nil, err
			}
		}
		if who.User != nil && who.User.MustChange && ctx.Operation().Metadata[temporaryKey] == nil {
			return nil, Problem(http.StatusForbidden, "password_change_required", "Your password was chosen by somebody else. Change it first.")
		}
	}
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		if err := s.checkOrigin(r, who); err != nil {
			return nil, err
		}
		if err := checkQuery(ctx.Operation(), r); err != nil {
			return nil, err
		}
		if err := checkPlace(ctx); err != nil {
			return nil, err
		}
	}
	return who, nil
}

// KeyLimited is the code of the response to a key that is limited to other aggregates.
const KeyLimited = "key_limited"

// SegmentOnly is the code of the response to a caller who may see only a segment.
const SegmentOnly = "segment_only"

// checkLimits rejects a limited key, except on an aggregate within its limits and for operations that
// apply the limits themselves.
func checkLimits(ctx huma.Context, who *Caller) error {
	switch ctx.Operation().Metadata[limitsKey] {
	case limitsByHandler:
		return nil
	case limitsByPath:
		if who.Limits.Allow(ctx.Param("type"), ctx.Param("id")) {
			return nil
		}
		return Problem(http.StatusForbidden, KeyLimited, "The key is limited to other aggregates.")
	}
	return Problem(http.StatusForbidden, KeyLimited, "The key is limited to some aggregates. This operation concerns all of them.")
}

// limitCaller rate-limits callers without any role: public views are open to everyone, and every
// request costs reads.
func (s *Stack) limitCaller(who *Caller) error {
	if who.May(ForIdentified, "") || who.sendsTo != "" {
		return nil
	}
	if wait, ok := s.AllowAnonymous(who.Network); !ok {
		return RateLimited("requests from this network", wait)
	}
	return nil
}

// AllowAnonymous charges one request to the rate limit of a network without a role, or returns how long
// to wait.
func (s *Stack) AllowAnonymous(network string) (wait time.Duration, ok bool) {
	return s.anonymous.Allow(network, 1)
}

// LimitAnonymous limits requests to public resources with AllowAnonymous, whoever the caller is.
func (s *Stack) LimitAnonymous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait, ok := s.AllowAnonymous(Network(r.RemoteAddr)); !ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
			WriteProblem(w, Problem(http.StatusTooManyRequests, "rate_limited", "Too many requests from this network."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// identify fills in the caller: from the Authorization header if there is one, otherwise from a
// cookie.
func (s *Stack) identify(ctx context.Context, r *http.Request, who *Caller) error {
	if onlyKeys(ctx) {
		return s.identifyKey(ctx, r.Header.Get("Authorization"), who)
	}
	err := accounts.ErrDenied
	session, _ := r.Cookie(SessionCookie)
	if share, _ := r.Cookie(ShareCookie); share != nil {
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
		return nil // anonymous: public views may still be allowed
	}
	return err
}

// withBasic returns the request with the password of basic authentication as its bearer token, if the
// operation allows that and the password is an API key.
func withBasic(op *huma.Operation, r *http.Request) *http.Request {
	_, password, basic := r.BasicAuth()
	if !basic || op.Metadata[basicKey] == nil || !accounts.IsKey(password) {
		return r
	}
	with := *r
	with.Header = r.Header.Clone()
	with.Header.Set("Authorization", "Bearer "+password)
	return &with
}

type keysOnly struct{}

// WithOnlyKeys returns a context whose requests are identified by API keys, and by nothing else: a
// process that only takes in facts may not read sessions and shares.
func WithOnlyKeys(ctx context.Context) context.Context {
	return context.WithValue(ctx, keysOnly{}, true)
}

func onlyKeys(ctx context.Context) bool { return ctx.Value(keysOnly{}) != nil }

// identifyKey identifies the holder of an API key or of the configured token. Others are anonymous.
func (s *Stack) identifyKey(ctx context.Context, header string, who *Caller) error {
	token, _ := strings.CutPrefix(header, "Bearer ")
	if !accounts.IsKey(token) && !s.isToken(token) {
		return nil
	}
	err := s.identifyBearer(ctx, header, who)
	if errors.Is(err, accounts.ErrDenied) {
		return nil
	}
	return err
}

// isToken reports whether token is the configured one.
func (s *Stack) isToken(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return s.Token != "" && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// identifyBearer identifies the holder of the configured token, of an API key, or of the access
// token of a shared view. Errors: accounts.ErrDenied for anything else.
func (s *Stack) identifyBearer(ctx context.Context, header string, who *Caller) error {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return accounts.ErrDenied
	}
	if s.isToken(token) {
		who.Actor, who.Grants = "token", accounts.Grants{accounts.AllSites: accounts.Viewer}
		return nil
	}
	if !accounts.IsKey(token) {
		return s.identifyShare(ctx, token, who)
	}
	key, err := s.Accounts.UseKey(ctx, token)
	if err != nil {
		return err
	}
	who.Actor, who.Grants, who.Behind = "key:"+key.KeyID, keyGrants(key), key.Creator
	who.Limits, who.personal = key.Limits, key.PersonalData
	if key.Scope == accounts.Ingest {
		who.sendsTo = key.Site
	}
	return nil
}

// keyGrants returns the roles that a key stands for. A key that only sends events has none.
func keyGrants(k accounts.Key) accounts.Grants {
	switch k.Scope {
	case accounts.Read:
		return accounts.Grants{k.Site: accounts.Viewer}
	case accounts.Write:
		return accounts.Grants{k.Site: accounts.Admin}
	}
	return accounts.Grants{}
}

func (s *Stack) identifySession(ctx context.Context, token string, who *Caller) error {
	user, login, err := s.Accounts.Resume(ctx, token)
	if err != nil {
		return err
	}
	who.Actor, who.Grants, who.User, who.Login, who.Behind = "user:"+user.UserID, user.Grants, &user, login, user.UserID
	return nil
}

func (s *Stack) identifyShare(ctx context.Context, token string, who *Caller) error {
	share, err := s.Accounts.ResumeShare(ctx, token)
	if err != nil {
		return err
	}
	if who.Actor == "" {
		who.Actor = "share:" + share.ShareID
	}
	who.shared, who.segment = share.Site, share.Segment
	return nil
}

// RequirePermission rejects a caller who lacks a permission.
func (s *Stack) RequirePermission(ctx context.Context, who *Caller, need Permission, site string) error {
	if who.May(need, site) {
		return nil
	}
	if need == ForStatistics {
		open, err := s.isOpen(ctx, who, site)
		if err != nil || open {
			return err
		}
	}
	if who.Actor == "" {
		return Problem(http.StatusUnauthorized, "unauthorized", "Log in, or send a key: Authorization: Bearer <key>.")
	}
	return Problem(http.StatusForbidden, "forbidden", "You do not have access. An owner of the installation can give you a role on the site or fleet.")
}

// isOpen reports whether a caller without a role on a site may see its statistics: because the site
// is public, or because the caller opened a shared link, possibly while logged in without a role.
func (s *Stack) isOpen(ctx context.Context, who *Caller, site string) (bool, error) {
	if who.shared == "" && who.shareCookie != "" {
		if err := s.identifyShare(ctx, who.shareCookie, who); err != nil && !errors.Is(err, accounts.ErrDenied) {
			return false, err
		}
	}
	if who.May(ForStatistics, site) {
		return true, nil
	}
	return s.Public(ctx, site)
}

// checkOrigin rejects changes that a page of another origin made a browser request.
func (s *Stack) checkOrigin(r *http.Request, who *Caller) error {
	if err := s.origins.Check(r); err != nil {
		return Problem(http.StatusForbidden, "cross_origin", "Requests from pages of other origins are not allowed.")
	}
	if who.User == nil || safeMethod(r.Method) {
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-CSRF-Token")), []byte(accounts.CSRF(who.Login.Token))) != 1 {
		return Problem(http.StatusForbidden, "csrf", "Send the header X-CSRF-Token with the csrf value of GET /api/v1/me.")
	}
	return nil
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// checkQuery rejects unknown query parameters, so that a misspelled filter is not silently ignored.
func checkQuery(op *huma.Operation, r *http.Request) error {
	if r.URL.RawQuery == "" || op.Metadata[anyQueryKey] != nil {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return Problem(http.StatusBadRequest, "bad_query", "The query string is malformed.")
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
			return Problem(http.StatusBadRequest, "unknown_parameter", "Unknown query parameter. This operation accepts: "+strings.Join(known, ", ")+".")
		}
	}
	return nil
}

// OverTLS reports whether the client connected over TLS, here or at the proxy in front.
func (s *Stack) OverTLS(r *http.Request) bool {
	return r.TLS != nil || s.TrustProxy && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// WriteError sends an error as the response to a request.
func (s *Stack) WriteError(api huma.API, ctx huma.Context, err error) {
	var p *huma.ErrorModel
	if !errors.As(err, &p) {
		if err = s.Error(ctx.Context(), err); !errors.As(err, &p) {
			p = Problem(http.StatusInternalServerError, "internal", "Internal error.")
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
		s.Logger.Warn("writing a response failed", "error", err)
	}
}
