package openid

import (
	"errors"
	"net/http"
)

// claims are the claims that onefold reads from ID tokens and user info.
type claims struct {
	AuthorizedParty string `json:"azp"`
	Email           string `json:"email"`
	EmailVerified   *truth `json:"email_verified"`
	Name            string `json:"name"`
}

// truth is a boolean that some providers send as a string.
type truth bool

// UnmarshalJSON accepts a boolean or a string.
func (t *truth) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `true`, `"true"`:
		*t = true
	case `false`, `"false"`:
		*t = false
	default:
		return errors.New("openid: email_verified is neither true nor false")
	}
	return nil
}

// bounded rejects responses that are longer than any legitimate response of a provider.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}
