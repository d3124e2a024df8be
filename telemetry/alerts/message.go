package alerts

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
)

// webhookBody is the body of a webhook.
type webhookBody struct {
	ID    string        `json:"id"`
	Event string        `json:"event"`
	Alert AlertSnapshot `json:"alert"`
}

// message says what a notification reports.
func (n *Notification) message() (*delivery.Message, error) {
	event := "alert." + string(n.Event)
	body, err := json.Marshal(webhookBody{n.NotificationID, event, n.Alert})
	return &delivery.Message{
		ID: n.NotificationID, Event: event, Title: n.subject(), Text: n.Alert.text(), Urgency: n.urgency(), Body: body,
	}, err
}

func (n *Notification) urgency() delivery.Urgency {
	switch {
	case n.Event == telemetry.Resolves || n.Event == telemetry.Withdraws:
		return delivery.Recovered
	case n.Alert.Severity == telemetry.Critical:
		return delivery.Critical
	case n.Alert.Severity == telemetry.Warning:
		return delivery.Warning
	}
	return delivery.Info
}

// subject describes a notification in one line, apart from what users put into it.
func (n *Notification) subject() string {
	return fmt.Sprintf("[%s] %s: %s, %s", n.Alert.Severity, n.Event, n.Alert.Message, n.Alert.device())
}

func (a *AlertSnapshot) device() string {
	if a.Device == "" {
		return a.DeviceID
	}
	return a.Device + " (" + a.DeviceID + ")"
}

// text describes an alert in lines of plain text.
func (a *AlertSnapshot) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", oneLine(a.Message))
	line("Device:   %s\nFleet:    %s\nSeverity: %s", oneLine(a.device()), a.FleetID, a.Severity)
	if a.Metric != "" {
		line("Metric:   %s\nValue:    %s (peak: %s)", oneLine(a.Metric), a.Value, a.Peak)
	}
	line("Since:    %s", a.Since.Format(time.RFC3339))
	if a.Resolved != nil {
		line("Resolved: %s", a.Resolved.Format(time.RFC3339))
	}
	line("Alert:    %s", a.AlertID)
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
