package promql

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/onefold/onefold/telemetry"
)

// Labels of a device. A label of a metric with the same name gets the prefix exported_, as in
// Prometheus.
const (
	labelDevice  = "device"
	labelName    = "device_name"
	labelProfile = "profile"
	labelType    = "type"
	labelTags    = "tags" // between commas: ",north,wet,"
)

var reserved = []string{labelDevice, labelName, labelProfile, labelType, labelTags, model.MetricNameLabel}

// series is one metric of a device.
type series struct {
	device, metric string
	labels         labels.Labels
}

func seriesOf(d *telemetry.Device, metric string) series {
	b := labels.NewBuilder(labels.EmptyLabels())
	name, own, ok := split(metric)
	if !ok {
		name, own = metric, nil
	}
	for _, l := range own {
		if slices.Contains(reserved, l.Name) {
			l.Name = "exported_" + l.Name
		}
		b.Set(l.Name, l.Value)
	}
	b.Set(model.MetricNameLabel, name)
	for label, value := range map[string]string{labelDevice: d.DeviceID, labelName: d.Name, labelProfile: d.ProfileID, labelType: d.Type} {
		b.Set(label, value) // an empty value is no label
	}
	if len(d.Tags) > 0 {
		b.Set(labelTags, ","+strings.Join(d.Tags, ",")+",")
	}
	return series{d.DeviceID, metric, b.Labels()}
}

// split returns the name and the labels of a metric such as cpu.idle{cpu=cpu0}. ok is false for a name
// that looks different, or has a label twice or without a value: it is then a name as a whole, so that
// no two metrics have the same labels.
func split(metric string) (name string, all []labels.Label, ok bool) {
	name, rest, braces := strings.Cut(metric, "{")
	if !braces {
		return metric, nil, true
	}
	rest, closed := strings.CutSuffix(rest, "}")
	if !closed || name == "" {
		return "", nil, false
	}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, there := strings.Cut(part, "=")
		switch {
		case there:
			all = append(all, labels.Label{Name: key, Value: value})
		case len(all) > 0: // a comma in a value
			all[len(all)-1].Value += "," + part
		default:
			return "", nil, false
		}
	}
	for i, l := range all {
		if l.Name == "" || l.Value == "" || i > 0 && all[i-1].Name >= l.Name {
			return "", nil, false
		}
		if strings.HasPrefix(l.Name, "exported_") || l.Name == model.MetricNameLabel {
			return "", nil, false // it could be that of another metric
		}
	}
	return name, all, true
}

// matches reports whether a series matches all matchers.
func (s *series) matches(all []*labels.Matcher) bool {
	for _, m := range all {
		if !m.Matches(s.labels.Get(m.Name)) {
			return false
		}
	}
	return true
}
