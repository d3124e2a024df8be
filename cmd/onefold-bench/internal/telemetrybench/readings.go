package telemetrybench

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// batchReadings is the number of readings in a batch, ofOneDevice the number per device.
const batchReadings, ofOneDevice = 1000, 10

// gauge generates readings of devices in order of time: three metrics that drift.
type gauge struct {
	random  *rand.Rand
	devices []int // by number
	sent    int
	at      int64 // time of the last reading in Unix milliseconds
	celsius int   // hundredths
}

func newGauge(seed uint64, devices []int) *gauge {
	return &gauge{random: rand.New(rand.NewPCG(seed, 7)), devices: devices, celsius: 2000}
}

// next returns the next reading.
func (g *gauge) next() (device int, at int64, celsius, humidity, volts float64) {
	device = g.devices[g.sent/ofOneDevice%len(g.devices)]
	g.sent++
	g.at = max(g.at+1, time.Now().UnixMilli())
	g.celsius += g.random.IntN(11) - 5
	return device, g.at, float64(g.celsius) / 100, float64(400+g.random.IntN(200)) / 10, float64(360+g.random.IntN(10)) / 100
}

// json appends a reading in JSON.
func (g *gauge) json(b []byte) []byte {
	device, at, celsius, humidity, volts := g.next()
	return fmt.Appendf(b, `{"device":"d%d","at":%d,"values":{"temperature":%.2f,"humidity":%.1f,"battery":%.2f}}`, device, at, celsius, humidity, volts)
}

// array appends a batch in JSON.
func (g *gauge) array(b []byte) []byte {
	b = append(b, '[')
	for i := range batchReadings {
		if i > 0 {
			b = append(b, ',')
		}
		b = g.json(b)
	}
	return append(b, ']')
}

// lines appends a batch in line protocol.
func (g *gauge) lines(b []byte) []byte {
	for range batchReadings {
		device, at, celsius, humidity, volts := g.next()
		b = fmt.Appendf(b, "room,device=d%d temperature=%.2f,humidity=%.1f,battery=%.2f %d\n", device, celsius, humidity, volts, at)
	}
	return b
}

// share returns the device numbers of the i-th of n senders.
func share(i, n int) (devices []int) {
	for d := i; d < ingestDevices; d += n {
		devices = append(devices, d)
	}
	return devices
}
