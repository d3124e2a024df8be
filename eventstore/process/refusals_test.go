package process_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
)

// A process was paused for longer than its lease when it was about to handle a command. It goes on
// before or after its successor has recorded that the command was refused, and the aggregate would
// accept it by then. The command is either refused or accepted, for both.
func TestRefusedByOneAcceptedByAnother(t *testing.T) {
	for name, c := range map[string]struct {
		before bool // the paused process goes on before the refusal is recorded
		want   string
		a, b   int
	}{
		"accepted first": {true, "{ID:t1 From:a To:b Amount:70} {ID:t1 Why:}", 30, 70},
		"refused first":  {false, "{ID:t1 From:a To:b Amount:70} {ID:t1 Why:insufficient funds}", 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBank(t, func(b *bank) {
				b.append(id("account", "a"), Opened{50})
				b.append(id("account", "b"), Opened{0})
				var paused func() error
				m := b.process(b.store, func(again func() error, err error) error {
					if paused == nil {
						if paused = again; !errors.Is(err, errPoor) {
							b.Errorf("the first decision: %v", err)
						}
						if c.before {
							b.append(id("account", "a"), Opened{100})
							b.must(paused())
						}
					}
					return err
				})
				stop := running(b.Context(), m)
				b.append(id("transfer", "t1"), Started{"t1", "a", "b", 70})
				time.Sleep(20 * time.Second)
				if !c.before {
					b.append(id("account", "a"), Opened{100})
					if err := paused(); !errors.Is(err, eventstore.ErrIncluded) {
						b.Errorf("the paused process goes on: %v", err)
					}
					time.Sleep(20 * time.Second)
				}
				b.must(stop())
				b.isStory(id("transfer", "t1"), c.want)
				if a, to := b.balance("a"), b.balance("b"); a != c.a || to != c.b {
					b.Errorf("balances %d and %d, want %d and %d\n%s", a, to, c.a, c.b, b.reactions("t1"))
				}
			})
		})
	}
}
