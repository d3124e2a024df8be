package accounts

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Every secret that this package makes has 256 random bits. It cannot be guessed, so a plain hash
// protects it as well as a slow one. Only the hash is stored.
const secretBytes = 32

// newSecret returns a new secret as text that needs no escaping in URLs and headers.
func newSecret() string {
	raw := make([]byte, secretBytes)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newID returns a new ID with 80 random bits: 16 lower-case letters and digits.
func newID() string {
	raw := make([]byte, 10)
	rand.Read(raw)
	return idEncoding.EncodeToString(raw)
}

// validID reports whether a text from outside can be an ID, so that nothing else gets into a key.
func validID(id string) bool {
	raw, err := idEncoding.DecodeString(id)
	return err == nil && len(raw) == 10
}

// hashOf returns the stored hash of a secret.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// matches compares a secret with a stored hash in constant time.
func matches(secret, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(hash)) == 1
}

// splitToken splits a token into prefix, ID and secret, which an underscore separates. ok is false
// for a text that this package cannot have made.
func splitToken(prefix, token string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(token, prefix)
	if !ok {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	return id, secret, ok && validID(id) && len(secret) == base64.RawURLEncoding.EncodedLen(secretBytes)
}
