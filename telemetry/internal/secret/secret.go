// Package secret makes what a device proves itself by: tokens that it sends, and codes that are printed on it. Only their
// hashes are stored. It is a part of telemetry, and used by nobody else.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	tokenBytes = 32
	codeBytes  = 10 // 80 bits: nobody guesses it at any rate that is allowed
)

// NewToken makes a token of a device, which is its id, a point and a secret, and the hash of the secret. The secret has
// 256 random bits: a plain hash leaves nothing to guess.
func NewToken(deviceID string) (token string, hash []byte) {
	raw := make([]byte, tokenBytes)
	rand.Read(raw) //nolint:errcheck // never returns an error since Go 1.24
	text := base64.RawURLEncoding.EncodeToString(raw)
	return deviceID + "." + text, hashOf(text)
}

// Split takes a token apart. It is not one if the secret is longer than those that NewToken makes.
func Split(token string) (deviceID, secret string, ok bool) {
	at := strings.LastIndexByte(token, '.')
	if at < 0 || len(token)-at-1 > base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return "", "", false
	}
	return token[:at], token[at+1:], true
}

// Proof is a secret that somebody shows.
type Proof []byte

// ProofOf prepares a secret for comparisons.
func ProofOf(secret string) Proof { return hashOf(secret) }

// Of reports whether it is the secret with a hash, in a time that tells nothing of either.
func (p Proof) Of(hash []byte) bool { return subtle.ConstantTimeCompare(p, hash) == 1 }

func hashOf(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return h[:]
}

// NewCode makes a code of 20 hexadecimal digits.
func NewCode() string {
	raw := make([]byte, codeBytes)
	rand.Read(raw) //nolint:errcheck // never returns an error since Go 1.24
	return strings.ToUpper(hex.EncodeToString(raw))
}

// CodeHash is the hash of a code however it is typed: in small letters, with blanks and hyphens.
func CodeHash(code string) string {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	return hex.EncodeToString(hashOf(code))
}
