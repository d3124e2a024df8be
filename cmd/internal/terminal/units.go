package terminal

import (
	"io"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Units shows a progress bar over days or other units.
type Units struct {
	bars *mpb.Progress
	bar  *mpb.Bar
	unit string
	name atomic.Value // string
}

// NewUnits returns a bar for a unit, named in the singular.
func NewUnits(w io.Writer, unit string) *Units {
	p := &Units{unit: unit}
	if IsScreen(w) {
		p.bars = newBars(w)
	}
	return p
}

// Update sets the current item and the progress.
func (p *Units) Update(name string, done, of int) {
	if p.bars == nil {
		return
	}
	p.name.Store(name)
	if p.bar == nil {
		title := decor.Any(func(decor.Statistics) string { return p.name.Load().(string) + " " })
		p.bar = p.bars.AddBar(int64(of), mpb.PrependDecorators(title, decor.CountersNoUnit("%d/%d "+p.unit+"s")),
			mpb.AppendDecorators(decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
	}
	p.bar.SetCurrent(int64(done))
}

// Close ends the bar. It may be called more than once.
func (p *Units) Close() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
	if p.bars != nil {
		p.bars.Wait()
		p.bars = nil
	}
}
