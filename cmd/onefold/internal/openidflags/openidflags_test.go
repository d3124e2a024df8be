package openidflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
)

const (
	home   = "https://onefold.example.com/"
	issuer = "https://login.example.com/realms/staff"
)

func TestFlags(t *testing.T) {
	good := func(change func(*Flags)) Flags {
		f := Flags{Issuer: issuer, ClientID: "onefold", NewUsers: none}
		change(&f)
		return f
	}
	for what, c := range map[string]struct {
		flags Flags
		at    string
		want  string // error text; "": none
	}{
		"nothing":            {Flags{NewUsers: none}, "", ""},
		"a provider":         {good(func(*Flags) {}), home, ""},
		"no public URL":      {good(func(*Flags) {}), "", "needs --public-url"},
		"no client":          {good(func(f *Flags) { f.ClientID = "" }), home, "needs --openid-client-id"},
		"no issuer":          {good(func(f *Flags) { f.Issuer = "" }), home, "need --openid-issuer"},
		"only new users":     {Flags{NewUsers: "viewer"}, home, "need --openid-issuer"},
		"plain":              {good(func(f *Flags) { f.Issuer = "http://login.example.com" }), home, "must begin with https://"},
		"new users of all":   {good(func(f *Flags) { f.NewUsers = "viewer" }), home, "needs --openid-domains"},
		"no domain":          {good(func(f *Flags) { f.NewUsers, f.Domains = "viewer", []string{"@example.com"} }), home, "is not a domain"},
		"every domain":       {good(func(f *Flags) { f.NewUsers, f.Domains = "viewer", []string{"*"} }), home, "is not a domain"},
		"an empty domain":    {good(func(f *Flags) { f.NewUsers, f.Domains = "viewer", []string{""} }), home, "is not a domain"},
		"a long name":        {good(func(f *Flags) { f.Name = strings.Repeat("ä", 41) }), home, "at most 40"},
		"no file":            {good(func(f *Flags) { f.ClientSecretFile = filepath.Join(t.TempDir(), "none") }), home, "no such file"},
		"new users of a few": {good(func(f *Flags) { f.NewUsers, f.Domains = "admin", []string{"Example.com"} }), home, ""},
	} {
		p, err := c.flags.Provider(c.at)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "bad_openid: ") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if (p != nil) != (err == nil && c.flags.Issuer != "") {
			t.Errorf("%s: %+v", what, p)
		}
	}
	f := good(func(f *Flags) { f.NewUsers, f.Domains = "admin", []string{"Example.com"} })
	p, err := f.Provider(home)
	if err != nil || p.Name != "login.example.com" || p.Admit.Role != accounts.Admin || !slices.Equal(p.Admit.Domains, []string{"example.com"}) {
		t.Errorf("%+v %v", p, err)
	}
}

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct{ text, env, want, fails string }{
		{text: "kept in a file\n", want: "kept in a file"}, {env: "kept outside", want: "kept outside"}, {},
		{text: "one", env: "another", fails: "are both set"}, {text: "\n", fails: "contains no secret"}, {text: strings.Repeat("x", 5000), fails: "contains no secret"},
	} {
		f := Flags{}
		if c.text != "" {
			f.ClientSecretFile = file
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(secretEnv, c.env)
		got, err := f.secret()
		if got != c.want || c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
}
