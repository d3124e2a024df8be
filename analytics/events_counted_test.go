package analytics

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// Events are counted in the order in which they are yielded, and exactly as often, whatever blocks
// they are in.
func TestCounted(t *testing.T) {
	seeds.Run(t, 10, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
			Schema: Schema, Group: FoldGroup, At: noon, Folds: func(*table.Table) []*fold.Fold { return Folds(Config{}) },
		})}
		s := w.site("site", "UTC")
		for i := range 20 {
			var events []Event
			for range 1 + r.IntN(12) {
				e := testEvent(noon.Add(time.Duration(r.IntN(1000))*time.Second), r.IntN(50), fmt.Sprint("/", i)) // some occur twice, in different blocks
				e.Shard, e.UserID, e.Erased, e.Properties = r.IntN(4), "ann", r.IntN(9) == 0, map[string]string{"block": fmt.Sprint(i)}
				if !slices.ContainsFunc(events, func(o Event) bool { return o.EventID == e.EventID }) {
					events = append(events, *e)
				}
			}
			blocks, err := Pack(events, noon.Add(time.Duration(r.IntN(20))*time.Second))
			w.Must(err)
			for i := range blocks {
				w.Must(Blocks.Put(w.Ctx, w.Table, &blocks[i]))
			}
		}
		in := EventsBetween(&s, noon.Add(time.Duration(r.IntN(500))*time.Second), noon.Add(time.Duration(500+r.IntN(600))*time.Second), "")
		want, err := in.Collect(w.Ctx, w.Table)
		w.Must(err)
		n := 0
		for e, err := range in.Counted(w.Ctx, w.Table) {
			w.Must(err)
			if n == len(want) {
				t.Fatalf("%+v follows the last", e)
			}
			if !reflect.DeepEqual(*e, want[n]) {
				t.Fatalf("event %d\nis     %+v\nshould %+v", n, *e, want[n])
			}
			n++
		}
		if n != len(want) || n == 0 {
			t.Errorf("%d events, want %d", n, len(want))
		}
	})
}
