package gauges

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server/mqtt"
)

// told returns the metrics of collectors.
func told(t *testing.T, all ...prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(all...)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func mustSay(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("not told: %s", line)
		}
	}
}

// measured is an engine with metrics chosen by a test.
type measured engine.Metrics

func (m measured) Metrics() engine.Metrics { return engine.Metrics(m) }

func TestEngine(t *testing.T) {
	m := measured{
		Stalls: 2, Stalled: 1500 * time.Millisecond, Stalling: true, CommitsWaiting: 3, CompactionDebt: 1 << 30, ReadAmp: 7, BlockCacheMaxBytes: 64 << 20,
	}
	m.Syncs.Bounds = []time.Duration{250 * time.Microsecond, 2500 * time.Microsecond, 10 * time.Second}
	m.Syncs.Counts, m.Syncs.Count, m.Syncs.Sum = []uint64{1, 4, 5}, 6, 12*time.Second
	mustSay(t, told(t, engineCollector{m}),
		`onefold_engine_wal_sync_seconds_bucket{le="0.00025"} 1`, `onefold_engine_wal_sync_seconds_bucket{le="0.0025"} 4`, `onefold_engine_wal_sync_seconds_bucket{le="10"} 5`,
		`onefold_engine_wal_sync_seconds_bucket{le="+Inf"} 6`, "onefold_engine_wal_sync_seconds_sum 12", "onefold_engine_write_stalls_total 2",
		"onefold_engine_write_stall_seconds_total 1.5", "onefold_engine_write_stalled 1", "onefold_engine_commits_waiting 3",
		"onefold_engine_compaction_debt_bytes 1.073741824e+09", "onefold_engine_read_amplification 7", "onefold_engine_flushes_total 0")
}

// A real engine exports the described metrics, even after it is closed.
func TestEngineOfADatabase(t *testing.T) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustSay(t, told(t, Engine(db)...), "onefold_engine_write_stalled 0", "onefold_engine_block_cache_max_bytes 6.7108864e+07")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	mustSay(t, told(t, engineCollector{db}), "onefold_engine_block_cache_max_bytes 0")
}

func TestMQTT(t *testing.T) {
	if text := told(t, &MQTT{}); text != "" {
		t.Errorf("without a broker: %s", text)
	}
	broker, err := mqtt.New(mqtt.Options{MaxClients: 7, Login: func(context.Context, mqtt.Login) (mqtt.Taker, error) { return nil, errors.New("nobody") }})
	if err != nil {
		t.Fatal(err)
	}
	mustSay(t, told(t, &MQTT{broker}), "onefold_mqtt_clients 0", "onefold_mqtt_max_clients 7", "onefold_mqtt_waiting_messages 0", `onefold_mqtt_messages_total{verdict="failed"} 0`)
}
