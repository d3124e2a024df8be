// Package redact anonymizes partition keys, for logs and for people who see the load on keys but
// may not see the identity of people and devices. It is the only place that decides which words of
// a key may be shown.
package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxClear is the maximum number of bytes of a key that are shown: enough for the shard of a site
// or fleet with any name.
const maxClear = 96

// Keys anonymizes keys. Create one with New.
type Keys struct {
	show map[string]int
	salt []byte // of this process, so that nobody can find a key by trying
}

// New returns Keys that show, for keys that begin with a word of show, that word and the given
// number of words after it. For all other keys they show only the first word, if it is a name as in
// schemas. show is not modified; nil shows no further words of any key.
func New(show map[string]int) *Keys {
	salt := make([]byte, 16)
	rand.Read(salt) //nolint:errcheck // never returns an error since Go 1.24
	return &Keys{show: show, salt: salt}
}

// Name returns a key with the words that may be shown, followed by ~ and a hash of the whole key.
// The hash stays the same while the process runs. A key that may be shown completely is returned
// unchanged.
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

// isName reports whether a word is a name as schemas have them, such as SITE or DEVICE_STATUS, and
// not external data.
func isName(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// Products returns how many words after the first may be shown for the keys of each product: IDs of
// sites, fleets, types and states, which operators choose, and parts of the products themselves.
// None of them identify people or are likely to, as IDs of users, devices, aggregates and subjects
// are.
func Products() map[string]int {
	return map[string]int{
		"SITE": 3, "FLEET": 3, "PROFILE": 1, "FLEET_PROFILES": 1, "FLEET_RULES": 1, "DEVICE_STATUS": 2, "DEVICE_ROLLUPS": 1, "DEVICE_TASKS": 1, "READINGS_ARRIVING": 1,
		"ALERT_SEVERITY": 1, "OUTBOX": 1, "SITE_OUTBOX": 1, "AGGREGATE": 1, "AGGREGATE_TYPE": 2, "EVENT_TYPE": 2, "PROJECTION": 3, "SUBSCRIPTION": 1, "SUBJECTS": 1, "FOLD": 1, "UNIQUE": 1,
		"ACCOUNT": 1, "MOVEFENCE": 1,
	}
}
