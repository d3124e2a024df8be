package openid_test

import (
	"testing"

	"github.com/onefold/onefold/server/accounts/openid"
	"github.com/onefold/onefold/server/accounts/openid/openidtest"
)

const home = "https://onefold.example.com/api/v1/login/openid/callback"

// TestACertifiedProvider logs people in with an independent provider.
func TestACertifiedProvider(t *testing.T) {
	issuer := openidtest.Start(t, home, map[string]openidtest.Person{
		"ann": {Email: "ann@example.com", EmailVerified: true, Name: "Ann"},
		"bob": {Email: "bob@example.com"},
		"cid": {},
	})
	p, err := openid.New(openid.Options{Issuer: issuer, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, RedirectURL: home})
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]openid.Person{
		"ann": {Issuer: issuer, Subject: "ann", Email: "ann@example.com", EmailVerified: true, Name: "Ann"},
		"bob": {Issuer: issuer, Subject: "bob", Email: "bob@example.com"},
		"cid": {Issuer: issuer, Subject: "cid"},
	} {
		secret := openid.NewSecret()
		there, err := p.Begin(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		q := openidtest.LogIn(t, there, subject).Query()
		who, err := p.Finish(t.Context(), secret, q.Get("state"), q.Get("iss"), q.Get("code"))
		if err != nil || who != want {
			t.Errorf("%s: %+v %v", subject, who, err)
		}
		if who, err := p.Finish(t.Context(), secret, q.Get("state"), q.Get("iss"), q.Get("code")); err == nil {
			t.Errorf("%s: a code was good twice: %+v", subject, who)
		}
	}
}
