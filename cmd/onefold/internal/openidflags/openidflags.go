// Package openidflags has the flags of a server for logins through an OpenID provider.
package openidflags

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/openid"
)

// Flags select the provider, and the people who get an account through it.
type Flags struct {
	Issuer           string   `help:"URL of the OpenID provider that people can log in with, under which it serves /.well-known/openid-configuration. Requires --public-url (default: none)." placeholder:"URL" env:"ONEFOLD_OPENID_ISSUER"`
	ClientID         string   `help:"Client ID of this server at the provider." placeholder:"ID" env:"ONEFOLD_OPENID_CLIENT_ID"`
	ClientSecretFile string   `help:"File that holds the client secret. ONEFOLD_OPENID_CLIENT_SECRET can hold the secret itself (default: public client without a secret)." type:"path" placeholder:"FILE" env:"ONEFOLD_OPENID_CLIENT_SECRET_FILE"`
	Name             string   `help:"Name of the provider on the login page, such as Keycloak (default: its host name)." placeholder:"NAME" env:"ONEFOLD_OPENID_NAME"`
	NewUsers         string   `help:"Role on everything for people without an account whose email address is in a domain of --openid-domains: viewer or admin. With none, only people with an account can log in." enum:"none,viewer,admin" default:"none" env:"ONEFOLD_OPENID_NEW_USERS"`
	Domains          []string `help:"Email domains of people who get an account, such as example.com." placeholder:"DOMAIN,…" env:"ONEFOLD_OPENID_DOMAINS"`
	TrustEmail       bool     `help:"Treat email addresses as verified if the provider never says whether they are, as Microsoft Entra ID does. Use only with a provider whose users cannot choose their address." env:"ONEFOLD_OPENID_TRUST_EMAIL"`
}

const (
	secretEnv = "ONEFOLD_OPENID_CLIENT_SECRET" // not a flag, which others on the machine could read
	maxSecret = 4096                           // bytes
	maxName   = 40                             // characters
	none      = "none"                         // value of --openid-new-users
)

// Provider returns the provider for logins, or nil if no issuer is set. publicURL is the URL of the
// server. Errors begin with bad_openid.
func (f *Flags) Provider(publicURL string) (*server.OpenID, error) {
	if f.Issuer == "" {
		if f.ClientID != "" || f.Name != "" || len(f.Domains) > 0 || f.NewUsers != none {
			return nil, errors.New("bad_openid: --openid flags need --openid-issuer, the provider's URL")
		}
		return nil, nil
	}
	if err := f.check(publicURL); err != nil {
		return nil, err
	}
	secret, err := f.secret()
	if err != nil {
		return nil, err
	}
	provider, err := openid.New(openid.Options{
		Issuer: f.Issuer, ClientID: f.ClientID, ClientSecret: secret, TrustEmail: f.TrustEmail,
		RedirectURL: strings.TrimRight(publicURL, "/") + server.OpenIDCallback,
	})
	if err != nil {
		return nil, fmt.Errorf("bad_openid: --openid-issuer: %w", err)
	}
	name := f.Name
	if name == "" {
		name = provider.Host()
	}
	return &server.OpenID{Provider: provider, Name: name, Admit: f.admission()}, nil
}

func (f *Flags) check(publicURL string) error {
	switch {
	case publicURL == "":
		return errors.New("bad_openid: --openid-issuer needs --public-url, to which the provider redirects")
	case f.ClientID == "":
		return errors.New("bad_openid: --openid-issuer needs --openid-client-id: register this server with the provider")
	case len([]rune(f.Name)) > maxName:
		return fmt.Errorf("bad_openid: --openid-name has at most %d characters", maxName)
	case f.NewUsers != none && len(f.Domains) == 0:
		return errors.New("bad_openid: --openid-new-users needs --openid-domains: otherwise everyone with an account at the provider would get one here")
	}
	for _, domain := range f.Domains {
		if domain == "" || strings.ContainsAny(domain, "@*/ ") {
			return fmt.Errorf("bad_openid: --openid-domains: %q is not a domain such as example.com", domain)
		}
	}
	return nil
}

func (f *Flags) admission() accounts.Admission {
	if f.NewUsers == none {
		return accounts.Admission{}
	}
	admit := accounts.Admission{Role: accounts.Role(f.NewUsers)}
	for _, domain := range f.Domains {
		admit.Domains = append(admit.Domains, strings.ToLower(domain))
	}
	return admit
}

// secret returns the client secret, "" for a public client.
func (f *Flags) secret() (string, error) {
	given := os.Getenv(secretEnv)
	if f.ClientSecretFile == "" {
		return given, nil
	}
	if given != "" {
		return "", fmt.Errorf("bad_openid: %s and --openid-client-secret-file are both set: omit one of them", secretEnv)
	}
	text, err := os.ReadFile(f.ClientSecretFile)
	if err != nil {
		return "", fmt.Errorf("bad_openid: --openid-client-secret-file: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || len(text) > maxSecret {
		return "", fmt.Errorf("bad_openid: %s contains no secret of 1 to %d bytes", f.ClientSecretFile, maxSecret)
	}
	return secret, nil
}
