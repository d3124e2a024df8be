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
	lookEvery  = 2 * time.Second // how often readings of other servers are looked for
	lookBehind = time.Minute     // how much older than the latest reading, by device time, a reading may be to be found
)

// otherServers finds the readings of a device that other servers ingested: those in the table that the
// stream has not sent yet.
type otherServers struct {
	t      *table.Table
	device string
	newest int64      // epoch milliseconds, by device time
	from   int64      // where the next read begins: a minute before the newest reading of the last one
	sent   map[id]int // how many were sent, from there on
	own    map[id]int // how many this server ingested
}

// id identifies a reading for a watcher. Identical readings share an id and are counted.
type id struct {
	at     int64  // epoch milliseconds
	values string // JSON
}

func idOf(one *tailed) id {
	values, err := json.Marshal(one.Values)
	if err != nil { // cannot happen: all kinds of values can be encoded
		return id{at: one.At.UnixMilli()}
	}
	return id{one.At.UnixMilli(), string(values)}
}

// othersOf begins after the readings that exist now.
func othersOf(ctx context.Context, t *table.Table, device string) (*otherServers, error) {
	o := &otherServers{t: t, device: device, newest: t.Now().UnixMilli(), sent: map[id]int{}, own: map[id]int{}}
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

// took notes a reading that this server ingested, and reports whether to send it: it may already
// have been found in the table.
func (o *otherServers) took(one *tailed) bool {
	i := idOf(one)
	if o.own[i]++; o.own[i] <= o.sent[i] {
		return false
	}
	o.note(i)
	return true
}

// note records that a reading was sent.
func (o *otherServers) note(i id) {
	o.sent[i]++
	o.newest = max(o.newest, i.at)
}

// look returns the readings that were not sent yet, in order of device time.
func (o *otherServers) look(ctx context.Context) ([]tailed, error) {
	var found []tailed
	there := map[id]int{}
	for r, err := range (telemetry.ReadingsIn{DeviceID: o.device, From: time.UnixMilli(o.from), Partial: true}).All(ctx, o.t) {
		if err != nil {
			return nil, err
		}
		one := tailed{r.DeviceID, r.At, r.Values, r.Late}
		i := idOf(&one)
		if there[i]++; there[i] > o.sent[i] {
			found = append(found, one)
			o.note(i)
		}
	}
	o.from = o.newest - lookBehind.Milliseconds()
	old := func(i id, _ int) bool { return i.at < o.from }
	maps.DeleteFunc(o.sent, old)
	maps.DeleteFunc(o.own, old)
	return found, nil
}
