package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onefold/onefold/server/internal/middleware"
)

// Options configure the protocol over HTTP. API and Logger are required.
type Options struct {
	API       http.Handler // the HTTP API, without the middleware that sets client addresses
	Version   string       // of onefold
	PublicURL string       // pages of this origin may send requests; "": only those of the requested host
	// BehindProxy accepts any Host header at loopback addresses, because a proxy in front sets it. Otherwise,
	// such requests are rejected: a page could reach a local server under a name of its own (DNS rebinding).
	BehindProxy bool
	Logger      *slog.Logger
	Clock       func() time.Time
}

// maxBody is the maximum size of a request, in bytes.
const maxBody = 64 << 10

type serverKey struct{}

// Handler serves the streamable HTTP transport without sessions: any server of an installation can
// answer any request. Callers need a key, and get the tools that it allows.
func Handler(o Options) (http.Handler, error) {
	origins := http.NewCrossOriginProtection()
	if o.PublicURL != "" {
		if err := origins.AddTrustedOrigin(strings.TrimSuffix(o.PublicURL, "/")); err != nil {
			return nil, err
		}
	}
	transport := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return s
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: o.BehindProxy, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if origins.Check(r) != nil {
			middleware.WriteProblem(w, middleware.Problem(http.StatusForbidden, "cross_origin", "Requests from pages of other origins are not allowed."))
			return
		}
		s, err := o.serverFor(r)
		if err != nil {
			o.reject(w, err)
			return
		}
		transport.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, s)))
	}), nil
}

// serverFor returns a server with the tools of a request's key. Cookies do not count, so that a page
// cannot use the session of a person.
func (o *Options) serverFor(r *http.Request) (*mcp.Server, error) {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || key == "" {
		key = "none" // the API answers like for any wrong key, and limits guesses
	}
	c, err := NewClient("http://onefold.internal", key, &handlerTransport{handler: o.API, address: r.RemoteAddr, logger: o.Logger}, o.Clock)
	if err != nil {
		return nil, err
	}
	rights, err := RightsOf(r.Context(), c)
	if err != nil {
		return nil, err
	}
	return New(c, rights, o.Version), nil
}

// reject answers a request without a usable key.
func (o *Options) reject(w http.ResponseWriter, err error) {
	var p *Problem
	if !errors.As(err, &p) {
		o.Logger.Error("a request to the MCP server failed", "error", err)
		middleware.WriteProblem(w, middleware.Problem(http.StatusInternalServerError, "internal", "Internal error."))
		return
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="onefold"`)
		p.Detail = "Send an API key with scope read: Authorization: Bearer <key>."
	}
	middleware.WriteProblem(w, middleware.Problem(p.Status, p.Code, p.Detail))
}
