package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"512MB": 512 << 20, "2GB": 2 << 30, "1.5GiB": 3 << 29, " 300 m ": 300 << 20, "1000": 1000, "7kb": 7 << 10, "0": 0} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want {
			t.Errorf("%q is %d: %v", text, s, err)
		}
	}
	for _, text := range []string{"", "MB", "-1GB", "1e30GB", "nan", "1PB", "a lot", "infMB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "bad_size") {
			t.Errorf("%q is %d: %v", text, s, err)
		}
	}
}

// TestMachine determines the budget from Linux's files.
func TestMachine(t *testing.T) {
	const unknown, all = int64(math.MaxInt64), int64(2_000_000_000)
	for name, c := range map[string]struct {
		files  map[string]string
		ram    int64
		total  int64
		source string
	}{
		"another system": {nil, unknown, defaultTotal, "nothing that is known"},
		"no cgroups":     {nil, all, all / 10 * 6, "the machine"},
		"version 2, the limit is the parent's": {map[string]string{"proc/self/cgroup": "0::/system.slice/onefold.service\n",
			"sys/fs/cgroup/system.slice/onefold.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "536870912\n"}, all, 536870912 / 10 * 9, "the cgroup"},
		"version 2 in a container": {map[string]string{"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, all, 1073741824 / 10 * 9, "the cgroup"},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/a/b\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "400000000\n"}, all, 400000000 / 10 * 9, "the cgroup"},
		"a limit beyond the machine": {map[string]string{"proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, all, all / 10 * 6, "the machine"},
		"garbage": {map[string]string{"proc/self/cgroup": "::\n0\nx:memory\n", "sys/fs/cgroup/memory.max": "??"}, unknown, defaultTotal, "nothing that is known"},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if total, source := machine(root, c.ram); total != c.total || source != c.source {
			t.Errorf("%s: %d of %s, want %d of %s", name, total, source, c.total, c.source)
		}
	}
}

// TestDivide checks that the parts do not exceed the budget, with and without cgo, and that small
// budgets are enough to work with.
func TestDivide(t *testing.T) {
	for _, total := range []int64{Least, 256 << 20, 512 << 20, 1 << 30, 8 << 30, 1 << 40} {
		for _, cgo := range []bool{false, true} {
			b := Divide(total, "a test", cgo)
			outside := int64(0)
			if cgo {
				outside = b.Cache + memTables*int64(b.MemTable)
			}
			if b.Heap+outside > total || b.Heap < total/4 || b.Cache < 8<<20 || b.MemTable < 4<<20 || b.Folds < 16<<20 || b.Requests < 16<<20 || b.Reports < 16<<20 {
				t.Errorf("%d MB, cgo %t: %+v", total>>20, cgo, b)
			}
		}
	}
}

func TestBudget(t *testing.T) {
	f := Flags{Memory: 100 << 20}
	if _, err := f.Budget(false); err == nil || !strings.Contains(err.Error(), "bad_memory") {
		t.Errorf("100 MB: %v", err)
	}
	f.Memory = 0
	if b, err := f.Budget(false); err != nil || b.Total < Least || b.Source == "" {
		t.Errorf("%+v, %v", b, err)
	}
	f.Memory = 300 << 20
	b, err := f.Budget(false)
	if err != nil || b.Total != 300<<20 || b.Source != "--memory" {
		t.Errorf("%+v, %v", b, err)
	}
	t.Setenv("GOMEMLIMIT", "")
	was := debug.SetMemoryLimit(-1)
	undo := b.Limit()
	if now := debug.SetMemoryLimit(-1); now != b.Heap {
		t.Errorf("the limit is %d, want %d", now, b.Heap)
	}
	undo()
	if now := debug.SetMemoryLimit(-1); now != was {
		t.Errorf("the limit is %d, was %d", now, was)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	b.Limit()
	if now := debug.SetMemoryLimit(-1); now != was {
		t.Errorf("the limit is %d, although GOMEMLIMIT says one", now)
	}
	runtime.GC() // the live heap is known only after a collection
	if used := b.Used(); used <= 0 || used > 1 || math.IsNaN(used) {
		t.Errorf("%g of the heap is used", used)
	}
}

// Memory is returned once after a burst, and not while there is work.
func TestMemoryIsReturnedWhenIdle(t *testing.T) {
	const MB = 1 << 20
	var at idleness
	total := uint64(0)
	for i, c := range []struct {
		more uint64 // allocated since the last look
		want bool
	}{
		{10 * MB, false}, {10 * MB, false}, // too little to be worth it
		{900 * MB, false}, {700 * MB, false}, {17 * MB, false}, // an import
		{1 * MB, true}, {1 * MB, false}, {0, false},
		{16 * MB, false}, {16 * MB, false}, {16 * MB, false}, {16 * MB, true}, {16 * MB, false}, // slow garbage
		{64 * MB, false}, {16 * MB, true},
	} {
		total += c.more
		if got := at.look(total); got != c.want {
			t.Errorf("look %d, after %d MB more: %v, want %v", i, c.more/MB, got, c.want)
		}
	}
}
