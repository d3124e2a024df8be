package sqlprojection_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
)

// BenchmarkCatchUp applies events of the library, most with two statements, from an event store in
// memory. One operation is one event. Processor time is that of this process, without PostgreSQL's.
// Neither database syncs.
func BenchmarkCatchUp(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		for _, atOnce := range []int{1, 50, 500} {
			b.Run(fmt.Sprintf("%s/%d", name, atOnce), func(b *testing.B) {
				d := newSQLite(b.TempDir())
				if name == "postgres" {
					d = newPostgres(b)
				}
				w := newWorld(b)
				const copies = 1000
				for n := range b.N {
					if n < copies {
						w.append(n, Acquired{"a title"})
					} else {
						w.append(n%copies, Lent{fmt.Sprint("member", n%5000)})
					}
				}
				w.feed()
				p := w.project(d.open(b, nil), 1, sqlprojection.Options{Feed: projection.SubscribeOptions{AtOnce: atOnce}})
				w.must(p.Start(w.ctx))
				begin := processorTime(b)
				b.ResetTimer()
				_, err := p.CatchUp(w.ctx)
				w.must(err)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(processorTime(b)-begin)/float64(b.N)/1000, "cpu-µs/event")
			})
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
