package devices

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// AlertDevicePath names a device of a fleet, or with ~FLEET the fleet as a whole, which has its own
// alerts.
type AlertDevicePath struct {
	middleware.FleetPath
	Device string `path:"device" maxLength:"65" doc:"A device, or ~FLEET for the fleet as a whole."`
}

// AlertPath names an alert.
type AlertPath struct {
	AlertDevicePath
	Alert string `path:"alert" maxLength:"26" doc:"ID of the alert."`
}

// AlertBody is an alert in a list.
type AlertBody struct {
	ID           string               `json:"id"`
	Device       string               `json:"device"`
	DeviceName   string               `json:"deviceName,omitempty"`
	Rule         string               `json:"rule"`
	RuleName     string               `json:"ruleName,omitempty"`
	Metric       string               `json:"metric,omitempty"`
	Severity     telemetry.Severity   `json:"severity" enum:"info,warning,critical"`
	State        telemetry.AlertState `json:"state" enum:"firing,resolved"`
	Message      string               `json:"message,omitempty"`
	Since        time.Time            `json:"since" doc:"Time of the first reading that breached."`
	FiredAt      time.Time            `json:"firedAt,omitzero"`
	LastAt       time.Time            `json:"lastAt,omitzero" doc:"Time of the last reading that kept the alert open."`
	ResolvedAt   time.Time            `json:"resolvedAt,omitzero"`
	Value        string               `json:"value,omitempty" doc:"Value of the last reading that kept the alert open."`
	Peak         string               `json:"peak,omitempty" doc:"The worst value."`
	Ended        telemetry.Ending     `json:"ended,omitempty" doc:"Why it ended, unless a reading ended it."`
	Withdrawn    bool                 `json:"withdrawn,omitempty" doc:"Late readings, or a retraction, showed that the condition never held."`
	Replaces     string               `json:"replaces,omitempty" doc:"ID of the alert that late readings turned into this one."`
	AckedAt      time.Time            `json:"ackedAt,omitzero"`
	AckedBy      string               `json:"ackedBy,omitempty" doc:"Name of the person or key."`
	SnoozedUntil time.Time            `json:"snoozedUntil,omitzero"`
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func describeAlert(a *telemetry.Alert) AlertBody {
	return AlertBody{
		ID: a.AlertID, Device: a.DeviceID, Rule: a.RuleID, Metric: a.Metric, Severity: a.Severity, State: a.State, Message: a.Message,
		Since: time.UnixMilli(a.Since).UTC(), FiredAt: instant(a.Fired), LastAt: instant(a.Last), ResolvedAt: instant(a.Resolved), Value: a.Value, Peak: a.Peak,
		Ended: a.Ended, Withdrawn: a.Withdrawn, Replaces: a.Replaces, AckedAt: a.AckedAt, AckedBy: a.AckedBy, SnoozedUntil: a.SnoozedUntil,
	}
}

type alertAnswer struct{ Body AlertBody }

type alertDetailAnswer struct {
	Body struct {
		AlertBody
		History []telemetry.AlertNote `json:"history" doc:"Actions of people and corrections, oldest first."`
	}
}

type snoozeRequest struct {
	AlertPath
	Body struct {
		Until time.Time `json:"until,omitzero" required:"false" doc:"At most 31 days ahead. If absent, the snooze ends."`
	}
}

type commentRequest struct {
	AlertPath
	Body struct {
		Text string `json:"text" doc:"1 to 2,000 bytes."`
	}
}

type pendingBody struct {
	Rule  string    `json:"rule"`
	Since time.Time `json:"since"`
}

type pendingAnswer struct {
	Body struct {
		Pending []pendingBody `json:"pending"`
	}
}

func (s *Service) alertRoutes(api huma.API) {
	const one = devicePath + "/alerts/{alert}"
	tags := []string{"alerts"}
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "alerts", Method: http.MethodGet, Path: fleetPath + "/alerts", Summary: "List the alerts of a fleet or device", Tags: tags,
		Description: "Open alerts of a fleet are sorted by severity, critical first; alerts of a device, newest first; all alerts of a fleet, device by device. " +
			"A page may have fewer alerts than its limit. As long as there is a cursor, there may be more.",
	}), s.alerts)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "alert", Method: http.MethodGet, Path: one, Summary: "Get an alert with its history", Tags: tags,
	}), s.alert)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "acknowledge-alert", Method: http.MethodPost, Path: one + "/ack", Summary: "Acknowledge an alert", Tags: tags, Errors: []int{http.StatusConflict},
	}), s.acknowledge)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "snooze-alert", Method: http.MethodPost, Path: one + "/snooze", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Snooze an alert", Tags: tags, Errors: []int{http.StatusConflict},
	}), s.snooze)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "comment-alert", Method: http.MethodPost, Path: one + "/comments", MaxBodyBytes: middleware.MaxSmallBody, Summary: "Comment on an alert", Tags: tags,
	}), s.comment)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "pending-alerts", Method: http.MethodGet, Path: devicePath + "/pending", Summary: "List the rules that may soon fire for a device", Tags: tags,
	}), s.pending)
}

// knownTo fails unless the device belongs to the fleet, or the ID stands for the fleet itself.
func (s *Service) knownTo(ctx context.Context, fleetID, deviceID string) error {
	if deviceID == alerts.FleetDevice(fleetID) {
		return nil
	}
	_, err := s.known(ctx, &DevicePath{middleware.FleetPath{Fleet: fleetID}, deviceID})
	return err
}

func (s *Service) alert(ctx context.Context, in *AlertPath) (*alertDetailAnswer, error) {
	if err := s.knownTo(ctx, in.Fleet, in.Device); err != nil {
		return nil, err
	}
	a, err := telemetry.Alerts.Get(ctx, s.table, telemetry.AlertKey{DeviceID: in.Device, AlertID: in.Alert})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	named, err := s.nameAlerts(ctx, in.Fleet, []telemetry.Alert{a})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(alertDetailAnswer)
	answer.Body.AlertBody, answer.Body.History = named[0], append([]telemetry.AlertNote{}, a.History...)
	who := s.names()
	for i := range answer.Body.History {
		note := &answer.Body.History[i]
		if note.By, err = who.of(ctx, note.By); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	return answer, nil
}

// act changes an alert with do, which gets the alert's key and the actor.
func (s *Service) act(ctx context.Context, in *AlertPath, action string, do func(telemetry.AlertKey, string) (telemetry.Alert, error)) (*alertAnswer, error) {
	if err := s.knownTo(ctx, in.Fleet, in.Device); err != nil {
		return nil, err
	}
	a, err := do(telemetry.AlertKey{DeviceID: in.Device, AlertID: in.Alert}, middleware.CallerOf(ctx).Actor)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, action, in.Fleet, in.Device)
	named, err := s.nameAlerts(ctx, in.Fleet, []telemetry.Alert{a})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &alertAnswer{named[0]}, nil
}

func (s *Service) acknowledge(ctx context.Context, in *AlertPath) (*alertAnswer, error) {
	return s.act(ctx, in, "alert.acknowledge", func(k telemetry.AlertKey, by string) (telemetry.Alert, error) {
		return alerts.Acknowledge(ctx, s.table, k, by)
	})
}

func (s *Service) snooze(ctx context.Context, in *snoozeRequest) (*alertAnswer, error) {
	return s.act(ctx, &in.AlertPath, "alert.snooze", func(k telemetry.AlertKey, by string) (telemetry.Alert, error) {
		return alerts.Snooze(ctx, s.table, k, by, in.Body.Until)
	})
}

func (s *Service) comment(ctx context.Context, in *commentRequest) (*alertAnswer, error) {
	return s.act(ctx, &in.AlertPath, "alert.comment", func(k telemetry.AlertKey, by string) (telemetry.Alert, error) {
		return alerts.Comment(ctx, s.table, k, by, in.Body.Text)
	})
}

func (s *Service) pending(ctx context.Context, in *DevicePath) (*pendingAnswer, error) {
	if _, err := s.known(ctx, in); err != nil {
		return nil, err
	}
	all, err := alerts.Pending(ctx, s.table, in.Device)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(pendingAnswer)
	answer.Body.Pending = []pendingBody{}
	for _, rule := range slices.Sorted(maps.Keys(all)) {
		answer.Body.Pending = append(answer.Body.Pending, pendingBody{rule, all[rule]})
	}
	return answer, nil
}

// nameAlerts converts alerts to bodies with the names of their devices, rules and people who
// acknowledged them.
func (s *Service) nameAlerts(ctx context.Context, fleetID string, all []telemetry.Alert) ([]AlertBody, error) {
	bodies := make([]AlertBody, len(all))
	if len(all) == 0 {
		return bodies, nil
	}
	keys := make([]telemetry.DeviceKey, len(all))
	for i := range all {
		keys[i] = telemetry.DeviceKey{DeviceID: all[i].DeviceID}
	}
	devices, err := telemetry.Devices.GetMany(ctx, s.table, keys)
	if err != nil {
		return nil, err
	}
	rules, err := telemetry.RulesOfFleet.Collect(ctx, s.table, telemetry.FleetIn{FleetID: fleetID})
	if err != nil {
		return nil, err
	}
	known, called := map[string]*telemetry.Device{}, map[telemetry.RuleKey]string{}
	for i := range devices {
		known[devices[i].DeviceID] = &devices[i]
	}
	for i := range rules {
		called[rules[i].RuleKey] = rules[i].Name
	}
	who := s.names()
	for i := range all {
		b := describeAlert(&all[i])
		if b.AckedBy, err = who.of(ctx, b.AckedBy); err != nil {
			return nil, err
		}
		if d := known[b.Device]; d != nil {
			b.DeviceName, b.RuleName = d.Name, called[telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: d.ProfileID, RuleID: b.Rule}]
		}
		if name := called[telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: b.Device, RuleID: b.Rule}]; name != "" {
			b.RuleName = name
		}
		bodies[i] = b
	}
	return bodies, nil
}
