package devices_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// telegraf returns what Telegraf sends for a machine at one time with the inputs of its default
// configuration: cpu, disk, diskio, kernel, mem, processes, swap and system, with the fields and
// tags that their documentation lists.
func telegraf(host string, cores, n int, at time.Time) string {
	var b strings.Builder
	point := func(measurement, tags, fields string) {
		if tags != "" {
			tags = "," + tags
		}
		fmt.Fprintf(&b, "%s,host=%s%s %s %d\n", measurement, host, tags, fields, at.UnixNano())
	}
	fieldsOf := func(names string, value func(i int) string) string {
		var all []string
		for i, name := range strings.Fields(names) {
			all = append(all, name+"="+value(i))
		}
		return strings.Join(all, ",")
	}
	share := func(i int) string { return fmt.Sprintf("%.13f", float64((n*31+i*17)%997)/9.97) }
	count := func(i int) string { return fmt.Sprintf("%di", n*1000+i*7) }
	for core := -1; core < cores; core++ {
		name := fmt.Sprintf("cpu%d", core)
		if core < 0 {
			name = "cpu-total"
		}
		point("cpu", "cpu="+name, fieldsOf("usage_user usage_system usage_idle usage_nice usage_iowait usage_irq usage_softirq usage_steal usage_guest usage_guest_nice", share))
	}
	for _, disk := range []string{"device=nvme0n1p2,fstype=ext4,mode=rw,path=/", "device=nvme0n1p1,fstype=vfat,mode=rw,path=/boot/efi", "device=nvme1n1,fstype=xfs,mode=rw,path=/var/lib"} {
		point("disk", disk, fieldsOf("free total used used_percent inodes_free inodes_total inodes_used inodes_used_percent", count))
	}
	for _, disk := range []string{"nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme1n1", "dm-0", "dm-1"} {
		point("diskio", "name="+disk, fieldsOf("reads writes read_bytes write_bytes read_time write_time io_time weighted_io_time iops_in_progress merged_reads merged_writes", count))
	}
	point("kernel", "", fieldsOf("boot_time context_switches entropy_avail interrupts processes_forked", count))
	point("mem", "", fieldsOf("active available available_percent buffered cached commit_limit committed_as dirty free high_free high_total huge_page_size huge_pages_free huge_pages_total inactive low_free low_total mapped page_tables shared slab sreclaimable sunreclaim swap_cached swap_free swap_total total used used_percent vmalloc_chunk vmalloc_total vmalloc_used write_back write_back_tmp", count))
	point("processes", "", fieldsOf("blocked dead idle paging running sleeping stopped total total_threads unknown zombies", count))
	point("swap", "", fieldsOf("free total used used_percent", count))
	point("swap", "", fieldsOf("in out", count))
	point("system", "", fieldsOf("load1 load15 load5 n_cpus n_unique_users n_users", share))
	point("system", "", `uptime=5183000i`)
	point("system", "", `uptime_format="59 days, 23:43"`)
	return b.String()
}

// Telegraf's default metrics of a machine with 32 cores are accepted completely, and found again.
func TestTelegrafDefaults(t *testing.T) {
	w := newWorks(t)
	start := time.Now().UTC().Add(-time.Hour).Truncate(time.Hour)
	const intervals = 30
	for n := range intervals {
		lines := telegraf("d1", 32, n, start.Add(time.Duration(n)*10*time.Second))
		if status, answer := w.Post("/api/v2/write?bucket=plant", lines, bearer(w.keys["ingest"])...); status != http.StatusNoContent {
			t.Fatal(status, answer)
		}
	}
	servertest.Must(t, w.Worker.Drain(w.Context()))
	if _, metrics := w.Get("/metrics"); strings.Contains(metrics, "onefold_readings_omitted_values_total{") {
		t.Error("values were left out")
	}
	key := telemetry.AggregateKey{DeviceID: "d1", Period: telemetry.Hourly, Start: start.Format("2006-01-02T15:04:05Z")}
	hour, err := telemetry.Aggregates.Get(w.Context(), w.Table, key)
	servertest.Must(t, err)
	const want = 33*10 + 3*8 + 6*11 + 5 + 34 + 11 + 6 + 6 + 2
	if n := len(hour.Metrics); n != want {
		t.Errorf("%d metrics, want %d", n, want)
	}
	for i := range hour.Metrics {
		if m := &hour.Metrics[i]; m.Count != intervals {
			t.Errorf("%s was counted %d times", m.Name, m.Count)
		}
	}
	it, err := telemetry.Aggregates.Encode(&hour)
	servertest.Must(t, err)
	t.Logf("%d metrics, %d bytes of an hour's item", len(hour.Metrics), table.ItemSize(it))
	if answer := w.verified(`{}`); answer.State != "clean" {
		t.Errorf("%+v", answer)
	}
}

// A truck changes its driver and its firmware: these are values of their own, and all other names
// stay the same.
func TestTagsThatDescribeADevice(t *testing.T) {
	w := newWorks(t)
	const settings = `{"propertyTags":["driver","device_version","fleet","model"],"limits":{"metrics":10}}`
	w.owner.Want(http.StatusOK, `"propertyTags":["driver","device_version","fleet","model"]`, http.MethodPatch, "/api/v1/fleets/plant", settings)
	start := time.Now().UTC().Add(-50 * time.Minute).Truncate(time.Minute)
	for i := range 50 {
		lines := fmt.Sprintf("readings,device=d1,driver=Driver_%02d,device_version=v%d.0,fleet=South,model=H-2 velocity=%d,fuel=%d.5 %d\n", i, i/10, i, i, start.Add(time.Duration(i)*time.Minute).UnixNano()) +
			fmt.Sprintf("diagnostics,device=d1,driver=Driver_%02d,wheel=front load=%d %d\n", i, i, start.Add(time.Duration(i)*time.Minute).UnixNano())
		if status, answer := w.Post("/api/v2/write?bucket=plant", lines, bearer(w.keys["ingest"])...); status != http.StatusNoContent {
			t.Fatal(status, answer)
		}
	}
	servertest.Must(t, w.Worker.Drain(w.Context()))
	var device struct {
		Latest map[string]struct{ Value any }
	}
	_, answer := w.Get("/api/v1/fleets/plant/devices/d1", bearer(w.keys["read"])...)
	servertest.Must(t, json.Unmarshal([]byte(answer), &device))
	var got []string
	for name, v := range device.Latest {
		got = append(got, fmt.Sprint(name, "=", v.Value))
	}
	slices.Sort(got)
	want := []string{"device_version=v4.0", "diagnostics.load{wheel=front}=49", "driver=Driver_49", "fleet=South", "model=H-2", "readings.fuel=49.5", "readings.velocity=49"}
	if !slices.Equal(got, want) {
		t.Errorf("latest values\n got %q\nwant %q\n%s", got, want, answer)
	}
	w.owner.Want(http.StatusUnprocessableEntity, "invalid", http.MethodPatch, "/api/v1/fleets/plant", `{"propertyTags":["a","a"]}`)
	w.owner.Want(http.StatusUnprocessableEntity, "invalid", http.MethodPatch, "/api/v1/fleets/plant", `{"propertyTags":["a#"]}`)
}
