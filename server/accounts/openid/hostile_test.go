package openid_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/onefold/onefold/server/accounts/openid"
)

// liar is a provider with configurable responses.
type liar struct {
	*httptest.Server
	key *rsa.PrivateKey

	document map[string]any // "": the discovery document
	token    func(claims map[string]any) (status int, body string)
	info     string
	down     bool
}

func newLiar(t *testing.T) *liar {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	l := &liar{key: key}
	l.token = l.signed(nil)
	l.Server = httptest.NewServer(http.HandlerFunc(l.answer))
	t.Cleanup(l.Close)
	l.document = map[string]any{
		"issuer": l.URL, "authorization_endpoint": l.URL + "/auth", "token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys",
		"userinfo_endpoint": l.URL + "/info", "id_token_signing_alg_values_supported": []string{"RS256"},
	}
	return l
}

func (l *liar) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case l.down:
		w.WriteHeader(http.StatusBadGateway)
	case strings.HasSuffix(r.URL.Path, "openid-configuration"):
		json.NewEncoder(w).Encode(l.document) //nolint:errcheck // the client tells
	case r.URL.Path == "/keys":
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &l.key.PublicKey, KeyID: "1", Algorithm: "RS256", Use: "sig"}}}) //nolint:errcheck // as above
	case r.URL.Path == "/info":
		io.WriteString(w, l.info) //nolint:errcheck // as above
	case r.URL.Path == "/token":
		status, body := l.token(map[string]any{
			"iss": l.URL, "sub": "ann", "aud": "onefold", "nonce": r.FormValue("code"), "email": "ann@example.com", "email_verified": true,
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		})
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck // as above
	}
}

// signed returns a response with an ID token in which some claims are changed.
func (l *liar) signed(change map[string]any) func(map[string]any) (int, string) {
	return func(claims map[string]any) (int, string) {
		maps.Copy(claims, change)
		return http.StatusOK, tokenAnswer(sign(jose.RS256, l.key, claims))
	}
}

func sign(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		panic(err)
	}
	object, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	raw, err := object.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return raw
}

func tokenAnswer(idToken string) string {
	return `{"access_token":"a","token_type":"Bearer","id_token":"` + idToken + `"}`
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *liar) provider(t *testing.T, o openid.Options) *openid.Provider {
	t.Helper()
	o.Issuer, o.ClientID, o.ClientSecret, o.RedirectURL = l.URL, "onefold", "a client's secret of 32 bytes ...", home
	p, err := openid.New(o)
	must(t, err)
	return p
}

// logIn simulates a browser's way to the provider and back. The liar uses the nonce as the code.
func logIn(t *testing.T, p *openid.Provider, change func(url.Values)) (openid.Person, error) {
	t.Helper()
	secret := openid.NewSecret()
	there, err := p.Begin(t.Context(), secret)
	must(t, err)
	u, err := url.Parse(there)
	must(t, err)
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("redirect_uri") != home || strings.Contains(there, secret) {
		t.Errorf("sent to %s", there)
	}
	q.Set("secret", secret)
	q.Set("code", q.Get("nonce"))
	if change != nil {
		change(q)
	}
	return p.Finish(t.Context(), q.Get("secret"), q.Get("state"), q.Get("iss"), q.Get("code"))
}

func TestAnswersThatAreRefused(t *testing.T) {
	l := newLiar(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	as := func(make func(map[string]any) string) func(map[string]any) (int, string) {
		return func(claims map[string]any) (int, string) { return http.StatusOK, tokenAnswer(make(claims)) }
	}
	for name, c := range map[string]struct {
		token  func(map[string]any) (int, string)
		info   string
		change func(url.Values)
		want   error
	}{
		"other nonce":       {token: l.signed(map[string]any{"nonce": "of another browser"}), want: openid.ErrRefused},
		"no nonce":          {token: l.signed(map[string]any{"nonce": ""}), want: openid.ErrRefused},
		"other client":      {token: l.signed(map[string]any{"aud": "another"}), want: openid.ErrRefused},
		"no client":         {token: l.signed(map[string]any{"aud": nil}), want: openid.ErrRefused},
		"two clients":       {token: l.signed(map[string]any{"aud": []string{"onefold", "another"}}), want: openid.ErrRefused},
		"two, for another":  {token: l.signed(map[string]any{"aud": []string{"onefold", "another"}, "azp": "another"}), want: openid.ErrRefused},
		"two, for us":       {token: l.signed(map[string]any{"aud": []string{"onefold", "another"}, "azp": "onefold"})},
		"other issuer":      {token: l.signed(map[string]any{"iss": "https://login.example.org"}), want: openid.ErrRefused},
		"expired":           {token: l.signed(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), want: openid.ErrRefused},
		"never expires":     {token: l.signed(map[string]any{"exp": nil}), want: openid.ErrRefused},
		"no subject":        {token: l.signed(map[string]any{"sub": ""}), want: openid.ErrRefused},
		"long subject":      {token: l.signed(map[string]any{"sub": strings.Repeat("s", 2000)}), want: openid.ErrRefused},
		"subject is number": {token: l.signed(map[string]any{"sub": 7}), want: openid.ErrRefused},
		"verified is odd":   {token: l.signed(map[string]any{"email_verified": 1}), want: openid.ErrRefused},
		"verified as text":  {token: l.signed(map[string]any{"email_verified": "true"})},
		"long name":         {token: l.signed(map[string]any{"name": strings.Repeat("n", 5000)})},
		"other key":         {token: as(func(c map[string]any) string { return sign(jose.RS256, other, c) }), want: openid.ErrRefused},
		"client's secret":   {token: as(func(c map[string]any) string { return sign(jose.HS256, []byte("a client's secret of 32 bytes ..."), c) }), want: openid.ErrRefused},
		"unsigned":          {token: as(func(map[string]any) string { return "eyJhbGciOiJub25lIn0.e30." }), want: openid.ErrRefused},
		"no token":          {token: as(func(map[string]any) string { return "" }), want: openid.ErrRefused},
		"garbage":           {token: as(func(map[string]any) string { return "garbage" }), want: openid.ErrRefused},
		"no JSON":           {token: func(map[string]any) (int, string) { return http.StatusOK, "<html>" }, want: openid.ErrUnavailable},
		"bad code":          {token: func(map[string]any) (int, string) { return http.StatusBadRequest, `{"error":"invalid_grant"}` }, want: openid.ErrRefused},
		"broken":            {token: func(map[string]any) (int, string) { return http.StatusInternalServerError, "" }, want: openid.ErrUnavailable},
		"endless": {token: func(map[string]any) (int, string) {
			return http.StatusOK, `{"id_token":"` + strings.Repeat("x", 2<<20) + `"}`
		}, want: openid.ErrUnavailable},
		"info of another": {token: l.signed(map[string]any{"email": nil}), info: `{"sub":"bob","email":"bob@example.com","email_verified":true}`, want: openid.ErrRefused},
		"info":            {token: l.signed(map[string]any{"email": nil, "email_verified": nil}), info: `{"sub":"ann","email":"ann@example.com","email_verified":true}`},
		"info is garbage": {token: l.signed(map[string]any{"email": nil}), info: `garbage`, want: openid.ErrUnavailable},
		"other state":     {change: func(q url.Values) { q.Set("state", q.Get("nonce")) }, want: openid.ErrRefused},
		"no state":        {change: func(q url.Values) { q.Del("state") }, want: openid.ErrRefused},
		"other browser":   {change: func(q url.Values) { q.Set("secret", openid.NewSecret()) }, want: openid.ErrRefused},
		"no browser":      {change: func(q url.Values) { q.Del("secret"); q.Del("state") }, want: openid.ErrRefused},
		"mixed up":        {change: func(q url.Values) { q.Set("iss", "https://login.example.org") }, want: openid.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			if l.token = c.token; c.token == nil {
				l.token = l.signed(nil)
			}
			l.info = c.info
			who, err := logIn(t, l.provider(t, openid.Options{}), c.change)
			if !errors.Is(err, c.want) {
				t.Errorf("%+v %v, want %v", who, err, c.want)
			}
			if want := (openid.Person{Issuer: l.URL, Subject: "ann", Email: "ann@example.com", EmailVerified: true}); c.want == nil && who != want {
				t.Errorf("%+v", who)
			}
		})
	}
}

// TestAddressesThatNobodyVerified checks that only the provider verifies addresses, unless the
// operator trusts one that never says so.
func TestAddressesThatNobodyVerified(t *testing.T) {
	l := newLiar(t)
	for _, c := range []struct {
		says     any
		trusted  bool
		verified bool
	}{{nil, false, false}, {nil, true, true}, {false, true, false}, {"false", true, false}, {true, false, true}} {
		l.token = l.signed(map[string]any{"email_verified": c.says})
		if c.says == nil {
			l.token = func(claims map[string]any) (int, string) {
				delete(claims, "email_verified")
				return l.signed(nil)(claims)
			}
		}
		who, err := logIn(t, l.provider(t, openid.Options{TrustEmail: c.trusted}), nil)
		if err != nil || who.EmailVerified != c.verified {
			t.Errorf("%+v: %+v %v", c, who, err)
		}
	}
}

// TestAProviderThatIsAway checks that an unreachable provider is retried, but not by every login.
func TestAProviderThatIsAway(t *testing.T) {
	l := newLiar(t)
	now := time.Now()
	p := l.provider(t, openid.Options{Clock: func() time.Time { return now }})
	l.down = true
	_, err := p.Begin(t.Context(), openid.NewSecret())
	if !errors.Is(err, openid.ErrUnavailable) {
		t.Fatal(err)
	}
	l.down = false
	if _, err := p.Begin(t.Context(), openid.NewSecret()); !errors.Is(err, openid.ErrUnavailable) {
		t.Error("asked again at once", err)
	}
	now = now.Add(5 * time.Second)
	if who, err := logIn(t, p, nil); err != nil || who.Subject != "ann" {
		t.Error(who, err)
	}
	l.document["issuer"] = "https://login.example.org"
	if _, err := l.provider(t, openid.Options{}).Begin(t.Context(), openid.NewSecret()); !errors.Is(err, openid.ErrUnavailable) {
		t.Error("a provider that says it is another", err)
	}
}

func TestOptions(t *testing.T) {
	for issuer, ok := range map[string]bool{
		"https://login.example.com/realms/x": true, "http://localhost:8080": true, "http://127.0.0.1:1": true, "https://login.example.com": true,
		"http://login.example.com": false, "login.example.com": false, "": false, "https://": false, "https://a@b.example": false, "https://a.example?x": false, "ftp://a.example": false, "https://%": false,
	} {
		if _, err := openid.New(openid.Options{Issuer: issuer, ClientID: "x", RedirectURL: home}); (err == nil) != ok || !ok && !errors.Is(err, openid.ErrOptions) {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	if _, err := openid.New(openid.Options{Issuer: "https://a.example"}); !errors.Is(err, openid.ErrOptions) {
		t.Error(err)
	}
}
