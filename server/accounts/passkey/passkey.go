// Package passkey verifies WebAuthn responses of browsers: that a passkey was created for this
// server, and that its holder has it and was verified. It stores nothing; package accounts does.
package passkey

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

var (
	// ErrAddress is returned for a public URL for which browsers cannot create passkeys.
	ErrAddress = errors.New("passkeys need a public URL like https://onefold.example.com, or http://localhost:8090, without a path: browsers do not support other schemes, IP addresses or single pages")
	// ErrRefused is returned for a response that is malformed, for another server, or not signed by
	// the passkey. It is joined with the reason, which is for logs.
	ErrRefused = errors.New("passkey: refused")
)

// Party is the server as a WebAuthn relying party: its host name and origin.
type Party struct {
	web *webauthn.WebAuthn
}

// NewParty returns the party of a public URL. Passkeys are bound to its host name and stop working
// if it changes. Errors: ErrAddress.
func NewParty(publicURL string) (*Party, error) {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, ErrAddress
	}
	local := u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return nil, ErrAddress
	}
	required := true
	web, err := webauthn.New(&webauthn.Config{
		RPID: strings.ToLower(u.Hostname()), RPDisplayName: "onefold", RPOrigins: []string{u.Scheme + "://" + strings.ToLower(u.Host)},
		AttestationPreference:             protocol.PreferNoAttestation,
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore, // some password managers send unsolicited extensions
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: &required, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, ErrAddress // an IP address, or not a name
	}
	return &Party{web}, nil
}

// Owner is the owner of passkeys.
type Owner struct {
	ID    string // user ID; at most 64 bytes
	Email string
	Name  string // "": the email address is shown
	Keys  []Key
}

// Key is the stored part of a passkey.
type Key struct {
	ID        []byte // chosen by the authenticator
	PublicKey []byte // COSE
	Counter   uint32 // signature counter; 0 for authenticators that do not count
	Synced    bool   // the authenticator may copy the passkey to the holder's other devices
	Hints     []string
}

// Methods of webauthn.User.

// WebAuthnID returns the user handle.
func (o *Owner) WebAuthnID() []byte { return []byte(o.ID) }

// WebAuthnName returns the name that distinguishes accounts.
func (o *Owner) WebAuthnName() string { return o.Email }

// WebAuthnDisplayName returns the name shown to people.
func (o *Owner) WebAuthnDisplayName() string {
	if o.Name == "" {
		return o.Email
	}
	return o.Name
}

// WebAuthnCredentials returns the passkeys.
func (o *Owner) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(o.Keys))
	for i, k := range o.Keys {
		all[i] = webauthn.Credential{
			ID: k.ID, PublicKey: k.PublicKey, Authenticator: webauthn.Authenticator{SignCount: k.Counter},
			Flags: webauthn.CredentialFlags{BackupEligible: k.Synced},
		}
		for _, hint := range k.Hints {
			all[i].Transport = append(all[i].Transport, protocol.AuthenticatorTransport(hint))
		}
	}
	return all
}

// Create returns the options for creating a passkey: the publicKey of navigator.credentials.create,
// as JSON. Authenticators that already have a passkey of the owner are excluded.
func (p *Party) Create(o *Owner, challenge []byte) (any, error) {
	options, _, err := p.begin(o, challenge)
	if err != nil {
		return nil, err
	}
	return options.Response, nil
}

func (p *Party) begin(o *Owner, challenge []byte) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	options, session, err := p.web.BeginRegistration(o, webauthn.WithExclusions(webauthn.Credentials(o.WebAuthnCredentials()).CredentialDescriptors()),
		func(c *protocol.PublicKeyCredentialCreationOptions) error {
			c.Challenge = challenge
			return nil
		})
	if err != nil {
		return nil, nil, fmt.Errorf("passkey: %w", err)
	}
	return options, session, nil
}

// A Creation is a browser's response to Create. The caller must check Challenge, the challenge that
// the response was made with.
type Creation struct {
	Challenge []byte
	parsed    *protocol.ParsedCredentialCreationData
}

// ParseCreation parses the JSON of a new PublicKeyCredential. Errors: ErrRefused.
func ParseCreation(answer []byte) (*Creation, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, refused(err)
	}
	challenge, err := base64.RawURLEncoding.DecodeString(parsed.Response.CollectedClientData.Challenge)
	if err != nil {
		return nil, refused(err)
	}
	return &Creation{challenge, parsed}, nil
}

// Created verifies a new passkey. Errors: ErrRefused.
func (p *Party) Created(o *Owner, c *Creation) (Key, error) {
	_, session, err := p.begin(o, c.Challenge)
	if err != nil {
		return Key{}, err
	}
	made, err := p.web.CreateCredential(o, *session, c.parsed)
	if err != nil {
		return Key{}, refused(err)
	}
	k := Key{ID: made.ID, PublicKey: made.PublicKey, Counter: made.Authenticator.SignCount, Synced: made.Flags.BackupEligible}
	for _, hint := range made.Transport[:min(len(made.Transport), maxHints)] {
		if len(hint) <= maxHint {
			k.Hints = append(k.Hints, string(hint))
		}
	}
	return k, nil
}

// Limits on the stored transports of an authenticator, such as usb.
const maxHints, maxHint = 8, 32

// Request returns the options for logging in: the publicKey of navigator.credentials.get, as JSON.
// The person chooses among the passkeys for this server.
func (p *Party) Request(challenge []byte) (any, error) {
	options, _, err := p.web.BeginDiscoverableLogin(webauthn.WithChallenge(challenge))
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	return options.Response, nil
}

// An Assertion is a browser's response to Request. Nothing in it is verified yet.
type Assertion struct {
	Challenge []byte
	OwnerID   string
	KeyID     []byte
	parsed    *protocol.ParsedCredentialAssertionData
}

// ParseAssertion parses the JSON of a PublicKeyCredential for a login. Errors: ErrRefused.
func ParseAssertion(answer []byte) (*Assertion, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, refused(err)
	}
	challenge, err := base64.RawURLEncoding.DecodeString(parsed.Response.CollectedClientData.Challenge)
	if err != nil {
		return nil, refused(err)
	}
	return &Assertion{challenge, string(parsed.Response.UserHandle), parsed.RawID, parsed}, nil
}

// Check verifies that the owner's passkey signed an assertion, and that its holder was verified.
// copied reports that the signature counter did not advance, so that the passkey may have been
// copied. Errors: ErrRefused.
func (p *Party) Check(o *Owner, a *Assertion) (counter uint32, copied bool, err error) {
	_, session, err := p.web.BeginDiscoverableLogin(webauthn.WithChallenge(a.Challenge))
	if err != nil {
		return 0, false, refused(err)
	}
	used, err := p.web.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return o, nil }, *session, a.parsed)
	if err != nil {
		return 0, false, refused(err)
	}
	return a.parsed.Response.AuthenticatorData.Counter, used.Authenticator.CloneWarning, nil
}

func refused(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) {
		err = fmt.Errorf("%s: %s (%s)", known.Type, known.Details, known.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}
