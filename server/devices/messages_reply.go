package devices

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/telemetry"
)

// topicRejected is the last level of devices/DEVICE/rejected. An acknowledgement has no room for
// what was wrong, and in MQTT 3 not even for whether something was. A client that subscribes to
// this topic is told, about its own messages only.
const topicRejected = "rejected"

// IsReplyFilter reports whether a client may subscribe to a topic filter: devices/DEVICE/rejected,
// or devices/+/rejected. Since a reply goes only to the client that sent the message, any device
// will do.
func IsReplyFilter(filter string) bool {
	rest, below := strings.CutPrefix(filter, topicRoot)
	device, rejected := strings.CutSuffix(rest, "/"+topicRejected)
	if !below || !rejected {
		return false
	}
	return device == "+" || device != "" && !strings.ContainsAny(device, "/+#")
}

// maxRefusals is the maximum number of readings that a reply describes.
const maxRefusals = 20

// refusals is the content of a reply about one message.
type refusals struct {
	Topic    string    `json:"topic"` // of the message
	Rejected int       `json:"rejected"`
	Omitted  int       `json:"omitted"` // values left out of accepted readings
	Details  []refusal `json:"details"` // of the first readings
}

// refusal is what was wrong with one reading.
type refusal struct {
	Reading int                 `json:"reading"` // position in the message, from 0
	Reason  telemetry.Reason    `json:"reason,omitempty"`
	Detail  string              `json:"detail,omitempty"`
	Omitted []telemetry.Omitted `json:"omitted,omitempty"`
}

// add notes the outcome of a reading, if something was wrong with it.
func (r *refusals) add(reading int, o *telemetry.Outcome) {
	switch {
	case o.Status == telemetry.Rejected:
		r.Rejected++
	case len(o.Omitted) > 0:
		r.Omitted += len(o.Omitted)
	default:
		return
	}
	r.Details = append(r.Details, refusal{reading, o.Reason, o.Detail, o.Omitted[:min(len(o.Omitted), maxRefusals)]})
}

// to returns the reply to a message that was published to a topic, none if nothing was wrong.
func (r *refusals) to(topic string) (reply mqtt.Reply) {
	if r.Rejected == 0 && r.Omitted == 0 {
		return reply
	}
	device, _, _ := strings.Cut(strings.TrimPrefix(topic, topicRoot), "/")
	slices.SortFunc(r.Details, func(a, b refusal) int { return cmp.Compare(a.Reading, b.Reading) })
	r.Topic, r.Details = topic, r.Details[:min(len(r.Details), maxRefusals)]
	reply.Topic = topicRoot + device + "/" + topicRejected
	reply.Payload, _ = json.Marshal(r) // texts and numbers always have a JSON form
	return reply
}
