package terminal

import (
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Files shows a progress bar over the bytes of files, with the rate in lines and the remaining
// time. It shows nothing if standard error is not a terminal.
type Files struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	files int
	done  int
	count atomic.Int64
	begun time.Time
	read  func() int64
	size  int64
}

// NewFiles returns a bar for files that are read in this order. It shows nothing if quiet is set.
func NewFiles(w io.Writer, quiet bool, files []string) *Files {
	p := &Files{files: len(files), begun: time.Now()}
	if quiet || !IsScreen(w) {
		return p
	}
	p.bars = newBars(w)
	return p
}

// Start begins a file of size bytes (-1: unknown). read returns the number of bytes read so far.
func (p *Files) Start(name string, size int64, read func() int64) {
	p.finish()
	p.done++
	p.size, p.read = size, read
	if p.bars == nil {
		return
	}
	title := filepath.Base(name)
	if p.files > 1 {
		title = fmt.Sprintf("%s (%d/%d)", title, p.done, p.files)
	}
	rate := decor.Any(func(decor.Statistics) string {
		lines := p.count.Load()
		return fmt.Sprintf("%s lines, %s/s ", Grouped(lines), Grouped(int64(float64(lines)/max(time.Since(p.begun).Seconds(), 0.001))))
	})
	p.bar = p.bars.AddBar(max(size, 0),
		mpb.PrependDecorators(decor.Name(title+" ", decor.WCSyncSpaceR), decor.Percentage(decor.WCSyncSpace)),
		mpb.AppendDecorators(rate, decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
}

// Lines reports the number of lines read so far, over all files.
func (p *Files) Lines(n int64) {
	p.count.Store(n)
	if p.bar != nil && p.size > 0 {
		p.bar.SetCurrent(p.read())
	}
}

func (p *Files) finish() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
}

// Close ends the bar. It may be called more than once.
func (p *Files) Close() {
	p.finish()
	if p.bars != nil {
		p.bars.Wait()
		p.bars = nil
	}
}
