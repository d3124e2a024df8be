// Package openid authenticates people with an OpenID provider: the authorization code flow of
// OpenID Connect, with PKCE. It stores nothing and knows no accounts; package accounts does.
package openid

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	// ErrOptions is returned by New for invalid options. The message says what to choose.
	ErrOptions = errors.New("openid")
	// ErrUnavailable is returned when the provider is unreachable or responds unexpectedly. It is
	// joined with the reason, which is for logs.
	ErrUnavailable = errors.New("openid: the provider is unreachable")
	// ErrRefused is returned for a response that does not belong to this browser's request, has a
	// wrong signature, or is expired. It is joined with the reason, which is for logs.
	ErrRefused = errors.New("openid: refused")
)

const (
	askTimeout = 10 * time.Second // for one request to the provider
	maxAnswer  = 1 << 20          // maximum size in bytes of a response of the provider
	maxClaim   = 1024             // maximum size in bytes of a claim; OpenID Connect allows subjects of 255
	secretSize = 32               // bytes
	retryAfter = 5 * time.Second  // how long to wait after a failed discovery
)

// Options describe the provider and onefold's registration with it. Issuer, ClientID and
// RedirectURL are required.
type Options struct {
	Issuer       string // URL below which the provider has /.well-known/openid-configuration
	ClientID     string
	ClientSecret string // "": onefold is a public client, protected by PKCE alone
	RedirectURL  string // where the provider redirects browsers

	// TrustEmail treats addresses as verified if the provider does not say whether they are.
	TrustEmail bool
	Clock      func() time.Time // default time.Now
}

// Person is the person whom the provider authenticated.
type Person struct {
	Issuer        string
	Subject       string // the issuer never reuses it for another person
	Email         string // "" if the provider does not send it
	EmailVerified bool
	Name          string // "" if the provider does not send it
}

// Provider is a client of an OpenID provider. It is safe for concurrent use.
type Provider struct {
	o      Options
	client *http.Client

	mu         sync.Mutex     // guards the fields below; held during discovery, so that it runs once
	discovered *oidc.Provider // nil until the provider was reached
	failed     error          // the error of the last attempt to reach it
	retry      time.Time      // no new attempt before this time, so that logins do not queue up for an unreachable provider
}

// New creates a Provider. It sends no request: discovery happens at the first login, because the
// provider may be unreachable now. Errors: ErrOptions.
func New(o Options) (*Provider, error) {
	if err := checkIssuer(o.Issuer); err != nil {
		return nil, err
	}
	if o.ClientID == "" || o.RedirectURL == "" {
		return nil, fmt.Errorf("%w: a client ID and a redirect URL are required", ErrOptions)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Provider{o: o, client: &http.Client{Timeout: askTimeout, Transport: bounded{transport}}}, nil
}

// checkIssuer requires TLS, except for a provider on the same machine.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%w: the issuer must be a URL like https://login.example.com, without a query", ErrOptions)
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return fmt.Errorf("%w: the issuer's URL must begin with https://", ErrOptions)
	}
	return nil
}

// Host returns the host name of the provider.
func (p *Provider) Host() string {
	u, err := url.Parse(p.o.Issuer)
	if err != nil { // unreachable: New has parsed it
		return p.o.Issuer
	}
	return u.Hostname()
}

// provider performs discovery once and caches the result.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.discovered != nil {
		return p.discovered, nil
	}
	if p.failed != nil && p.o.Clock().Before(p.retry) {
		return nil, p.failed
	}
	// A caller who gives up must not cancel the discovery that others wait for.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.o.Issuer)
	if err != nil {
		p.failed, p.retry = errors.Join(ErrUnavailable, err), p.o.Clock().Add(retryAfter)
		return nil, p.failed
	}
	p.discovered = found
	return found, nil
}

func (p *Provider) config(at *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, RedirectURL: p.o.RedirectURL, Endpoint: at.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// NewSecret returns the secret that a browser keeps during a login at the provider. State, nonce
// and PKCE verifier are derived from it, so that the server stores nothing for browsers that never
// return.
func NewSecret() string {
	raw := make([]byte, secretSize)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// derived derives a value from a browser's secret. The value reveals nothing about the secret or
// other derived values.
func derived(secret, purpose string) string {
	sum := sha256.Sum256([]byte("onefold openid " + purpose + " " + secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Begin returns the URL at the provider to which a browser with a secret is redirected. Errors:
// ErrUnavailable.
func (p *Provider) Begin(ctx context.Context, secret string) (string, error) {
	at, err := p.provider(ctx)
	if err != nil {
		return "", err
	}
	return p.config(at).AuthCodeURL(derived(secret, "state"), oidc.Nonce(derived(secret, "nonce")), oauth2.S256ChallengeOption(derived(secret, "verifier"))), nil
}

// Finish completes the login of a browser that returned with a code and a state, and returns the
// person. issuer is the parameter iss (RFC 9207), or "". Errors: ErrRefused, ErrUnavailable.
func (p *Provider) Finish(ctx context.Context, secret, state, issuer, code string) (Person, error) {
	if secret == "" || subtle.ConstantTimeCompare([]byte(state), []byte(derived(secret, "state"))) != 1 {
		return Person{}, refused("the state does not belong to this browser")
	}
	if issuer != "" && issuer != p.o.Issuer {
		return Person{}, refused("the response is from the issuer %q", issuer)
	}
	at, err := p.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.config(at).Exchange(ctx, code, oauth2.VerifierOption(derived(secret, "verifier")))
	if err != nil {
		return Person{}, exchangeError(err)
	}
	return p.named(ctx, at, token, derived(secret, "nonce"))
}

// exchangeError distinguishes a provider that rejects a code from one that does not respond.
func exchangeError(err error) error {
	if answer := (*oauth2.RetrieveError)(nil); errors.As(err, &answer) && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError {
		return refused("the code: %s %s", answer.ErrorCode, answer.ErrorDescription) // err has the whole response, which may contain tokens
	}
	return errors.Join(ErrUnavailable, err)
}

// named verifies an ID token, and requests missing claims from the provider.
func (p *Provider) named(ctx context.Context, at *oidc.Provider, token *oauth2.Token, nonce string) (Person, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, refused("there is no ID token")
	}
	id, err := at.VerifierContext(ctx, &oidc.Config{ClientID: p.o.ClientID, Now: p.o.Clock}).Verify(ctx, raw)
	if err != nil {
		return Person{}, errors.Join(ErrRefused, err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return Person{}, refused("the nonce does not belong to this browser")
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return Person{}, errors.Join(ErrRefused, err)
	}
	if len(id.Audience) > 1 && c.AuthorizedParty != p.o.ClientID {
		return Person{}, refused("the token was issued to %q", c.AuthorizedParty)
	}
	if c.Email == "" && at.UserInfoEndpoint() != "" {
		if err := p.ask(ctx, at, token, id.Subject, &c); err != nil {
			return Person{}, err
		}
	}
	return p.person(id, &c)
}

// ask fills in claims from the provider's user info endpoint, because many providers keep them out
// of the ID token.
func (p *Provider) ask(ctx context.Context, at *oidc.Provider, token *oauth2.Token, subject string, c *claims) error {
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return errors.Join(ErrUnavailable, err)
	}
	if info.Subject != subject {
		return refused("the user info belongs to another subject")
	}
	if err := info.Claims(c); err != nil {
		return errors.Join(ErrRefused, err)
	}
	return nil
}

func (p *Provider) person(id *oidc.IDToken, c *claims) (Person, error) {
	if id.Subject == "" || len(id.Subject) > maxClaim || len(c.Email) > maxClaim {
		return Person{}, refused("a claim is empty or too long")
	}
	verified := p.o.TrustEmail
	if c.EmailVerified != nil {
		verified = bool(*c.EmailVerified)
	}
	name := strings.ToValidUTF8(c.Name, "")
	if len(name) > maxClaim {
		name = ""
	}
	return Person{Issuer: id.Issuer, Subject: id.Subject, Email: c.Email, EmailVerified: verified && c.Email != "", Name: name}, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}
