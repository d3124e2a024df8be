// Package secret creates the credentials of devices: tokens that they send, and claim codes printed
// on them. Only their hashes are stored.
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
	codeBytes  = 10 // 80 bits: not guessable at any permitted rate
)

// NewToken returns a token for a device, which is the device ID, a point and a secret, and the hash
// of the secret. The secret has 256 random bits, so a plain hash suffices.
func NewToken(deviceID string) (token string, hash []byte) {
	raw := make([]byte, tokenBytes)
	rand.Read(raw) //nolint:errcheck // never returns an error since Go 1.24
	text := base64.RawURLEncoding.EncodeToString(raw)
	return deviceID + "." + text, hashOf(text)
}

// Split splits a token. It rejects secrets that are longer than those of NewToken.
func Split(token string) (deviceID, secret string, ok bool) {
	at := strings.LastIndexByte(token, '.')
	if at < 0 || len(token)-at-1 > base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return "", "", false
	}
	return token[:at], token[at+1:], true
}

// Proof is a hashed secret to compare with stored hashes.
type Proof []byte

// ProofOf prepares a secret for comparisons.
func ProofOf(secret string) Proof { return hashOf(secret) }

// Of reports whether the secret has the given hash, in constant time.
func (p Proof) Of(hash []byte) bool { return subtle.ConstantTimeCompare(p, hash) == 1 }

func hashOf(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return h[:]
}

// NewCode returns a claim code of 20 hexadecimal digits.
func NewCode() string {
	raw := make([]byte, codeBytes)
	rand.Read(raw) //nolint:errcheck // never returns an error since Go 1.24
	return strings.ToUpper(hex.EncodeToString(raw))
}

// CodeHash returns the hash of a code. Case, blanks and hyphens do not matter.
func CodeHash(code string) string {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	return hex.EncodeToString(hashOf(code))
}
