package devices

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

const (
	lookEvery  = 2 * time.Second // how often it is looked for readings that other servers took in
	lookBehind = time.Minute     // how much older than the latest one a reading may be, by device time, to be found
)

// others finds the readings of a device that other servers took in: those that are in the table and were not told yet.
type others struct {
	t      *table.Table
	device string
	newest int64      // epoch milliseconds, by device time
	from   int64      // where the next look begins: a minute before what was the newest at the last
	told   map[id]int // how many were told, from there on
	own    map[id]int // how many this server took in
}

// id is what a watcher is told of a reading. Several that are the same to the letter are told as often.
type id struct {
	at     int64  // epoch milliseconds
	values string // JSON
}

func idOf(one *tailed) id {
	values, err := json.Marshal(one.Values)
	if err != nil { // none of its kinds fails
		return id{at: one.At.UnixMilli()}
	}
	return id{one.At.UnixMilli(), string(values)}
}

// othersOf begins after the readings that are there.
func othersOf(ctx context.Context, t *table.Table, device string) (*others, error) {
	o := &others{t: t, device: device, newest: t.Now().UnixMilli(), told: map[id]int{}, own: map[id]int{}}
	latest, err := (telemetry.ReadingsIn{DeviceID: device, Partial: true}).Newest(ctx, t)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		o.newest = latest.At.UnixMilli()
	}
	o.from = o.newest - lookBehind.Milliseconds()
	_, err = o.look(ctx)
	return o, err
}

// took notes a reading that this server took in, and reports whether that is to be told: it may have been found in the table
// a moment before.
func (o *others) took(one *tailed) bool {
	i := idOf(one)
	if o.own[i]++; o.own[i] <= o.told[i] {
		return false
	}
	o.note(i)
	return true
}

// note says that a reading was told.
func (o *others) note(i id) {
	o.told[i]++
	o.newest = max(o.newest, i.at)
}

// look returns what was not told yet, in the order of device time.
func (o *others) look(ctx context.Context) ([]tailed, error) {
	var found []tailed
	there := map[id]int{}
	for r, err := range (telemetry.ReadingsIn{DeviceID: o.device, From: time.UnixMilli(o.from), Partial: true}).All(ctx, o.t) {
		if err != nil {
			return nil, err
		}
		one := tailed{r.DeviceID, r.At, r.Values, r.Late}
		i := idOf(&one)
		if there[i]++; there[i] > o.told[i] {
			found = append(found, one)
			o.note(i)
		}
	}
	o.from = o.newest - lookBehind.Milliseconds()
	old := func(i id, _ int) bool { return i.at < o.from }
	maps.DeleteFunc(o.told, old)
	maps.DeleteFunc(o.own, old)
	return found, nil
}
