package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/devices"
	"github.com/onefold/onefold/server/fleetquery/fleetparquet"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/server/webanalytics/notices"
	"github.com/onefold/onefold/table/delivery"
)

// deviceFlags configure how devices connect to the server.
type deviceFlags struct {
	outbox.Flags
	MQTT     string   `name:"mqtt" help:"Address to accept readings over MQTT, such as 127.0.0.1:1883 (default: none)." placeholder:"ADDR" env:"ONEFOLD_MQTT"`
	MQTTCert string   `name:"mqtt-cert" help:"Certificate for MQTT over TLS, in PEM." type:"path" placeholder:"FILE" env:"ONEFOLD_MQTT_CERT"`
	MQTTKey  string   `name:"mqtt-key" help:"Private key of the certificate, in PEM." type:"path" placeholder:"FILE" env:"ONEFOLD_MQTT_KEY"`
	LineTag  []string `name:"device-tag" help:"Tag that names the device in line protocol. Repeat or separate by commas (default: device,device_id,host)." placeholder:"TAG" env:"ONEFOLD_DEVICE_TAG"`
}

// applyDevices sets a server's options.
func (f *deviceFlags) applyDevices(o *server.Options, senders delivery.Senders) {
	o.Fleets.Parquet = fleetparquet.Write
	o.Devices.DeviceTags, o.Devices.PrivateWebhooks = f.LineTag, f.WebhookPrivate
	o.Analytics.Notices = notices.Options{Senders: senders, Private: f.WebhookPrivate}
}

// deviceServices returns the MQTT listener, if enabled, and the service that sends alert
// notifications.
func (f *deviceFlags) deviceServices(s *store, login func(context.Context, mqtt.Login) (mqtt.Taker, error), logger *slog.Logger, std streams) (listening []service, tell service, err error) {
	if tell, err = f.Notifier(s.table, &s.sent, logger); err != nil {
		return nil, nil, err
	}
	listening, err = f.mqttServices(s, login, logger, std)
	return listening, tell, err
}

// mqttServices returns the MQTT broker, if enabled.
func (f *deviceFlags) mqttServices(s *store, login func(context.Context, mqtt.Login) (mqtt.Taker, error), logger *slog.Logger, std streams) ([]service, error) {
	if f.MQTT == "" {
		return nil, nil
	}
	o := mqtt.Options{Login: login, MaySubscribe: devices.IsReplyFilter, Logger: logger}
	if f.MQTTCert != "" || f.MQTTKey != "" {
		pair, err := tls.LoadX509KeyPair(f.MQTTCert, f.MQTTKey)
		if err != nil {
			return nil, fmt.Errorf("--mqtt-cert, --mqtt-key: %w", err)
		}
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	broker, err := mqtt.New(o)
	if err != nil {
		return nil, err
	}
	l, err := listen.On("--mqtt", f.MQTT)
	if err != nil {
		return nil, err
	}
	s.mqtt.Broker = broker
	fmt.Fprintf(std.err, "MQTT readings: %s\n", l.Addr())
	return []service{func(ctx context.Context) error { return broker.Run(ctx, l) }}, nil
}
