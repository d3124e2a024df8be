package devicesim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Kind is a kind of device.
type Kind struct {
	Name    string
	Metrics []Metric
	measure func(*device, time.Time) []Value
}

// Metric is a metric of a kind of device.
type Metric struct {
	Name string
	Kind string // gauge, counter or state
	Unit string // "" for states
}

// Kinds are the kinds of devices: cold rooms, electricity meters, pumps. Their metrics differ, and
// the first metric of each is a gauge.
var Kinds = []Kind{
	{"coldroom", []Metric{{"temperature", "gauge", "°C"}, {"humidity", "gauge", "%"}, {"door", "state", ""}}, (*device).coldRoom},
	{"meter", []Metric{{"power", "gauge", "W"}, {"energy", "counter", "kWh"}}, (*device).meter},
	{"pump", []Metric{{"pressure", "gauge", "bar"}, {"vibration", "gauge", "mm/s"}, {"running", "state", ""}}, (*device).pump},
}

// Value is a measured value.
type Value struct {
	Metric string
	Text   string // the digits of a number
	Quoted bool   // it is a text, not a number or boolean
	Unit   string // set if the device sends it
}

// number returns a value with the given number of decimals.
func number(metric string, v float64, decimals int) Value {
	return Value{Metric: metric, Text: strconv.FormatFloat(v, 'f', decimals, 64)}
}

// hours returns the time of day, 0 to 24.
func hours(at time.Time) float64 { return float64(at.Hour()) + float64(at.Minute())/60 }

// daily returns a daily cycle between -1 and 1, with its maximum at the hour highest.
func daily(at time.Time, highest float64) float64 {
	return math.Cos((hours(at) - highest) / 24 * 2 * math.Pi)
}

const (
	incidentLasts = 2 * time.Hour
	warmBy        = 9 // degrees
)

func (d *device) coldRoom(at time.Time) []Value {
	busy := max(0, daily(at, 13))
	if d.left--; d.left <= 0 {
		d.left, d.on = 1+d.world.IntN(40), !d.on && d.world.Float64() < 0.5*busy
	}
	door, warmer := "closed", 0.0
	if d.on {
		door, warmer = "open", 0.8
	}
	if since := at.Sub(d.incident); !d.incident.IsZero() && since >= 0 && since < incidentLasts {
		door, warmer = "open", warmBy*(1-math.Exp(-since.Minutes()/20))
	}
	d.level += (warmer - d.level) * 0.3
	return []Value{
		number("temperature", 4+d.level+0.6*busy+0.15*d.world.NormFloat64(), 2),
		number("humidity", min(100, 78+6*d.level-3*busy+d.world.NormFloat64()), 1),
		{Metric: "door", Text: door, Quoted: true},
	}
}

// meter restarts at zero now and then, as if the meter had been replaced.
func (d *device) meter(at time.Time) []Value {
	watts := 180 + 900*max(0, daily(at, 11)) + 400*max(0, daily(at, 19)) + 60*d.world.Float64()
	if d.world.Float64() < 0.0005 {
		d.total = 0
	}
	d.total += watts / 1000 * d.every.Hours()
	return []Value{number("power", watts, 0), number("energy", d.total, 4)}
}

func (d *device) pump(at time.Time) []Value {
	if d.left--; d.left <= 0 {
		d.left, d.on = 20+d.world.IntN(60), !d.on
	}
	pressure, vibration := 0.2, 0.05
	if d.on {
		pressure, vibration = 3.4, 1.8
	}
	d.level += (pressure - d.level) * 0.6
	return []Value{
		number("pressure", max(0, d.level+0.05*d.world.NormFloat64()), 2),
		number("vibration", vibration*(1+0.1*d.world.Float64()), 3),
		{Metric: "running", Text: strconv.FormatBool(d.on)},
	}
}

// pick returns a random element.
func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
