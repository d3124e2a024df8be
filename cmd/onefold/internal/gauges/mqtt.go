package gauges

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/server/mqtt"
)

// MQTT exports the metrics of a broker. It may be registered before the broker exists: while Broker
// is nil, it exports nothing.
type MQTT struct{ Broker *mqtt.Broker }

var (
	mqttClients    = prometheus.NewDesc("onefold_mqtt_clients", "Connected MQTT clients.", nil, nil)
	mqttMaxClients = prometheus.NewDesc("onefold_mqtt_max_clients", "Maximum number of connected MQTT clients.", nil, nil)
	mqttWaiting    = prometheus.NewDesc("onefold_mqtt_waiting_messages", "MQTT messages received but not yet processed, at most 128 per client.", nil, nil)
	mqttRefused    = prometheus.NewDesc("onefold_mqtt_logins_refused_total", "Rejected MQTT logins.", nil, nil)
	mqttMessages   = prometheus.NewDesc("onefold_mqtt_messages_total", "MQTT messages, by verdict: taken, malformed, busy (sent too fast), forbidden, failed (not acknowledged, sent again).", []string{"verdict"}, nil)
)

// Describe implements prometheus.Collector.
func (m *MQTT) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{mqttClients, mqttMaxClients, mqttWaiting, mqttRefused, mqttMessages} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *MQTT) Collect(out chan<- prometheus.Metric) {
	if m.Broker == nil {
		return
	}
	f := m.Broker.Figures()
	for d, n := range map[*prometheus.Desc]int64{mqttClients: f.Clients, mqttMaxClients: f.MaxClients, mqttWaiting: f.Waiting} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	out <- prometheus.MustNewConstMetric(mqttRefused, prometheus.CounterValue, float64(f.Refused))
	for verdict, n := range map[string]int64{"taken": f.Taken, "malformed": f.Malformed, "busy": f.Busy, "forbidden": f.Forbidden, "failed": f.Failed} {
		out <- prometheus.MustNewConstMetric(mqttMessages, prometheus.CounterValue, float64(n), verdict)
	}
}
