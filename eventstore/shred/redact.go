package shred

import (
	"encoding/json"
	"strconv"

	"github.com/onefold/onefold/eventstore"
)

// Redacted replaces texts for readers who may not see personal data. Other values become null.
const Redacted = "[redacted]"

// Redact replaces the encrypted values of an event that was read as stored, as by a store with
// KeyStore.Sealing or without Secrets. It does not change events without such values. If they cannot
// be found, because the event is damaged, it removes the payload and metadata.
func Redact(e *eventstore.Event) {
	if _, sealed := e.Metadata[sealedName]; !sealed {
		return
	}
	err := unseal(e, func(_ string, value json.RawMessage) (json.RawMessage, error) {
		var b box
		if err := json.Unmarshal(value, &b); err != nil || b.As != asText {
			return json.RawMessage("null"), nil
		}
		return json.RawMessage(strconv.Quote(Redacted)), nil
	})
	if err != nil {
		e.Payload, e.Metadata = nil, nil
	}
}
