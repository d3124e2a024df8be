package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// browserSecret is the name of the secret that signs browser tokens.
const browserSecret = "browsers"

// BrowserToken returns the token that a browser keeps after a login, so that it is known at the
// next login with the same address. It gives no access. Wrong passwords that others send for the
// address do not count against a known browser.
func (s *Store) BrowserToken(ctx context.Context, email string) (string, error) {
	id := newID()
	mac, err := s.browserMAC(ctx, email, id)
	if err != nil {
		return "", err
	}
	return id + "." + base64.RawURLEncoding.EncodeToString(mac), nil
}

// KnownBrowser returns the ID in a token that BrowserToken made for an address. ok is false for any
// other text.
func (s *Store) KnownBrowser(ctx context.Context, email, token string) (id string, ok bool, err error) {
	id, signature, found := strings.Cut(token, ".")
	have, decodeErr := base64.RawURLEncoding.DecodeString(signature)
	if !found || decodeErr != nil || !validID(id) {
		return "", false, nil
	}
	want, err := s.browserMAC(ctx, email, id)
	if err != nil || !hmac.Equal(have, want) {
		return "", false, err
	}
	return id, true, nil
}

func (s *Store) browserMAC(ctx context.Context, email, id string) ([]byte, error) {
	secret, err := SharedSecret(ctx, s.t, browserSecret)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + " " + normalEmail(email)))
	return mac.Sum(nil), nil
}
