// Package redact rewrites partition keys so that they identify no person, for logs and for people who may see a table's
// load but not its contents. It is the one place that lists which words of a key may be shown.
package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxClear is how many bytes of a key are written: enough for the shard of a site or fleet of any name.
const maxClear = 96

// Keys writes keys. Make one with New.
type Keys struct {
	show map[string]int
	salt []byte // this process's own: nobody finds a key by trying
}

// New writes keys that begin with a word of show with that and as many words behind it. Of all others it writes the first word
// only, if it is a name such as schemas give. show is not changed, and nil shows nothing more of any.
func New(show map[string]int) *Keys {
	salt := make([]byte, 16)
	rand.Read(salt) //nolint:errcheck // never returns an error since Go 1.24
	return &Keys{show: show, salt: salt}
}

// Name is a key as it may be shown: the words that may be seen, and ~ with a hash of the whole, which is the same for the same key
// as long as the process lives. A key of which all may be seen is itself.
func (k *Keys) Name(key string) string {
	words := strings.Split(key, "#")
	clear := min(1+k.show[words[0]], len(words))
	text := strings.Join(words[:clear], "#")
	if len(text) > maxClear || !isName(words[0]) {
		text, clear = "", 0
	}
	if clear == len(words) {
		return text
	}
	mac := hmac.New(sha256.New, k.salt)
	mac.Write([]byte(key))
	return strings.TrimPrefix(text+"#~", "#") + hex.EncodeToString(mac.Sum(nil)[:6])
}

// isName reports whether a word is one that schemas give, such as SITE or DEVICE_STATUS, and nothing that came from outside.
func isName(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// Products are how many words may be seen behind the first of a product's key: those of the sites, fleets, types and states that
// whoever runs the products named, and of parts of the products themselves. None is of a person, nor of what a person is
// likely to be called by, as users, devices, aggregates and subjects are.
func Products() map[string]int {
	return map[string]int{
		"SITE": 3, "FLEET": 3, "PROFILE": 1, "FLEET_PROFILES": 1, "FLEET_RULES": 1, "DEVICE_STATUS": 2, "DEVICE_ROLLUPS": 1, "DEVICE_TASKS": 1, "READINGS_ARRIVING": 1,
		"ALERT_SEVERITY": 1, "OUTBOX": 1, "AGGREGATE": 1, "AGGREGATE_TYPE": 2, "EVENT_TYPE": 2, "PROJECTION": 3, "SUBJECTS": 1, "FOLD": 1, "UNIQUE": 1,
		"ACCOUNT": 1, "MOVEFENCE": 1,
	}
}
