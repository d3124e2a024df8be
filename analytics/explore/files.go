package explore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// Files are the columns of days in a directory, limited in bytes, so that they survive a restart
// and need not fit in memory. A file has the fingerprint of the events that it was made from, so it
// is never used after they have changed, and it is only a copy: a lost file is made again. The
// name has the key, so that the directory lists all. It is safe for concurrent use. mu protects the
// fields below it, and is held while a file is renamed or removed.
type Files struct {
	dir   string
	o     FilesOptions
	users userKey

	mu    sync.Mutex
	bytes int64
	of    map[string]map[dayKey]*fileOf // by site
}

// fileOf is the file of a day.
type fileOf struct {
	bytes   int64
	used    time.Time // to about a day
	checked uint64    // version at which the fingerprint was found current, plus one; 0: not since the start
}

const (
	daysFolder  = "days" // one folder for each site, which are apart from other files
	fileSuffix  = ".columns"
	draftPrefix = "draft-" // of unfinished files
	keyFile     = "key"    // of the hashes of users
	fileFormat  = 1
	useEvery    = 24 * time.Hour // how precisely the last use is recorded in the file's time

	// maxDayBytes limits the decoded columns of a day.
	maxDayBytes = 1 << 30

	blockReach = 5 * 60 // seconds from a block's first event to its last
)

var fileMagic = [8]byte{'o', 'f', 'c', 'o', 'l', 's', 0, fileFormat}

// fileHead is the start of a file. The columns follow, as one zstd frame:
//
//	"ofcols" 0 format | users 8 | fingerprint | length 8 | sum 8 | zstd(columns)
//
// Numbers are little-endian. Sum is xxHash64 of everything else, so a file that is damaged or only
// half written is recognized before it is decompressed; Length bounds the memory for that.
type fileHead struct {
	Magic  [8]byte
	Users  uint64 // check of the key of users
	Of     fingerprint
	Length uint64 // of the decoded columns
	Sum    uint64 // checksum of what is before it and of what follows
}

// openUserKey reads the key of a directory's users, or makes one. Files made with another are not
// used.
func openUserKey(path string) (k userKey, err error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == len(k) {
		return userKey(b), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	k = newUserKey()
	return k, os.WriteFile(path, k[:], 0o600)
}

// FilesOptions limit the files of a directory. The zero value has good defaults.
type FilesOptions struct {
	Bytes  int64       // total size; default 1 GiB, about 100 million events
	Room   func() bool // whether the disk has room for another file; default: it has
	Full   func() bool // whether the disk is so full that all files must go; default: it is not
	Report func(error) // told of problems with files, which cost only time; default: nobody
}

func (o *FilesOptions) defaults() {
	if o.Bytes <= 0 {
		o.Bytes = 1 << 30
	}
	if o.Room == nil {
		o.Room = func() bool { return true }
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// OpenFiles lists the files of a directory, which it creates if necessary.
func OpenFiles(dir string, o FilesOptions) (*Files, error) {
	o.defaults()
	f := &Files{dir: dir, o: o, of: map[string]map[dayKey]*fileOf{}}
	if err := os.MkdirAll(filepath.Join(dir, daysFolder), 0o700); err != nil {
		return nil, fmt.Errorf("explore: columns: %w", err)
	}
	var err error
	if f.users, err = openUserKey(filepath.Join(dir, keyFile)); err != nil {
		return nil, fmt.Errorf("explore: columns: %w", err)
	}
	err = filepath.WalkDir(filepath.Join(dir, daysFolder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), draftPrefix) {
			return os.Remove(path)
		}
		key, ok := f.keyOf(path)
		if !ok {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f.note(key, &fileOf{bytes: info.Size(), used: info.ModTime()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("explore: columns: %w", err)
	}
	return f, nil
}

func (f *Files) path(key dayKey) string {
	return filepath.Join(f.dir, daysFolder, key.site, fmt.Sprintf("%d-%d%s", key.from, key.to, fileSuffix))
}

// keyOf returns the key in a path.
func (f *Files) keyOf(path string) (key dayKey, ok bool) {
	name, ok := strings.CutSuffix(filepath.Base(path), fileSuffix)
	from, to, found := strings.Cut(name, "-")
	if !ok || !found {
		return key, false
	}
	var errs [2]error
	key.site = filepath.Base(filepath.Dir(path))
	key.from, errs[0] = strconv.ParseInt(from, 10, 64)
	key.to, errs[1] = strconv.ParseInt(to, 10, 64)
	return key, errors.Join(errs[:]...) == nil && f.path(key) == path
}

// note adds a file. mu must be held, except in OpenFiles.
func (f *Files) note(key dayKey, file *fileOf) {
	if f.of[key.site] == nil {
		f.of[key.site] = map[dayKey]*fileOf{}
	}
	f.of[key.site][key] = file
	f.bytes += file.bytes
}

// has reports whether a day has a file, and whether its fingerprint was found current at a version.
func (f *Files) has(key dayKey, version uint64) (has, checked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.of[key.site][key]
	return file != nil, file != nil && file.checked == version+1
}

// load reads the columns of a day at a version of its events. It returns nil if there are none that
// can be used, and removes a file that is damaged or was made from other events. The fingerprint is
// that of the events now; it is not needed if the file was checked at this version.
func (f *Files) load(key dayKey, version uint64, checked bool, of fingerprint, at time.Time) *columns {
	head, packed, err := f.read(key)
	if err == nil && !checked && of != head.Of {
		err = errOutdated
	}
	var d *columns
	if err == nil {
		d, err = unpack(packed, head.Length)
	}
	if err == nil {
		err = f.use(key, version, at)
	} else {
		err = errors.Join(f.ignore(err), f.remove(key))
	}
	if err != nil {
		f.o.Report(fmt.Errorf("explore: columns of %s: %w", f.path(key), err))
	}
	return d
}

// errOutdated means that the events of a day have changed since its file was made.
var errOutdated = errors.New("explore: outdated columns")

// ignore returns nil for what is expected to happen.
func (f *Files) ignore(err error) error {
	if errors.Is(err, errOutdated) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *Files) read(key dayKey) (head fileHead, packed []byte, err error) {
	b, err := os.ReadFile(f.path(key))
	if err != nil {
		return head, nil, err
	}
	n, err := binary.Decode(b, binary.LittleEndian, &head)
	if err == nil && (head.Magic != fileMagic || head.Users != f.users.check() || head.Sum != sumOf(b[:n], b[n:]) || head.Length > maxDayBytes) {
		err = errColumns
	}
	if err != nil {
		return head, nil, err
	}
	return head, b[n:], nil
}

// sumOf returns the checksum of a file: of its head, apart from the checksum at its end, and of what
// follows.
func sumOf(head, packed []byte) uint64 {
	sum := xxhash.New()
	_, _ = sum.Write(head[:len(head)-8]) // never fails
	_, _ = sum.Write(packed)
	return sum.Sum64()
}

// use records that the columns of a day were current and were used.
func (f *Files) use(key dayKey, version uint64, at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.of[key.site][key]
	if file == nil {
		return nil
	}
	file.checked = version + 1
	if at.Sub(file.used) < useEvery {
		return nil
	}
	file.used = at
	return os.Chtimes(f.path(key), at, at)
}

// confirm compares the file of a day with the fingerprint of its events at a version, and removes it
// if it was made from others.
func (f *Files) confirm(key dayKey, version uint64, of fingerprint) {
	head, _, err := f.read(key)
	if err == nil && head.Of == of {
		f.mu.Lock()
		defer f.mu.Unlock()
		if file := f.of[key.site][key]; file != nil {
			file.checked = version + 1
		}
		return
	}
	if err := errors.Join(f.ignore(err), f.remove(key)); err != nil {
		f.o.Report(fmt.Errorf("explore: columns of %s: %w", f.path(key), err))
	}
}

// save stores the columns of a day, and removes the files that were not used for the longest time
// until there is room. current reports whether the events are still those of the fingerprint.
func (f *Files) save(key dayKey, of fingerprint, version uint64, at time.Time, d *columns, current func() bool) {
	if !f.o.Room() {
		return
	}
	content, err := f.pack(of, d)
	if err == nil && int64(len(content)) <= f.o.Bytes {
		err = f.write(key, content, &fileOf{bytes: int64(len(content)), used: at, checked: version + 1}, current)
	}
	if err != nil {
		f.o.Report(fmt.Errorf("explore: columns of %s: %w", f.path(key), err))
	}
}

func (f *Files) write(key dayKey, content []byte, file *fileOf, current func() bool) (err error) {
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), draftPrefix+"*")
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Chtimes(draft.Name(), file.used, file.used)
	}
	if err == nil {
		err = f.place(key, draft.Name(), file, current)
	}
	if err != nil {
		return errors.Join(err, f.ignore(os.Remove(draft.Name())))
	}
	return nil
}

// place renames a finished file, unless the events have changed. An erasure that is noticed after
// the check removes the file.
func (f *Files) place(key dayKey, draft string, file *fileOf, current func() bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !current() {
		return os.Remove(draft)
	}
	if err := errors.Join(f.removeLocked(key), f.evict(file.bytes)); err != nil {
		return err
	}
	if err := os.Rename(draft, f.path(key)); err != nil {
		return err
	}
	f.note(key, file)
	return nil
}

// evict makes room for a file. mu must be held.
func (f *Files) evict(bytes int64) error {
	for f.bytes+bytes > f.o.Bytes {
		var oldest dayKey
		var used time.Time
		for _, days := range f.of {
			for key, file := range days {
				if oldest.site == "" || file.used.Before(used) || file.used.Equal(used) && key.from < oldest.from {
					oldest, used = key, file.used
				}
			}
		}
		if err := f.removeLocked(oldest); err != nil {
			return err
		}
	}
	return nil
}

// clear removes all files.
func (f *Files) clear() (err error) {
	for _, key := range f.keys() {
		err = errors.Join(err, f.remove(key))
	}
	return err
}

// full reports whether another file would replace one, or has no room on the disk.
func (f *Files) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes+f.o.Bytes/64 > f.o.Bytes || !f.o.Room()
}

func (f *Files) remove(key dayKey) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.removeLocked(key)
}

func (f *Files) removeLocked(key dayKey) error {
	file := f.of[key.site][key]
	if file == nil {
		return nil
	}
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(f.of[key.site], key)
	if f.bytes -= file.bytes; len(f.of[key.site]) == 0 {
		delete(f.of, key.site)
	}
	return nil
}

// removeAt removes the columns of the days of a site around a time in epoch seconds: one of their
// events was changed or erased.
func (f *Files) removeAt(site string, at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for key := range f.of[site] {
		if key.from <= at+blockReach && at < key.to {
			err = errors.Join(err, f.removeLocked(key))
		}
	}
	if err != nil {
		f.o.Report(fmt.Errorf("explore: columns of %s: %w", site, err))
	}
}

// keys returns the days that have files.
func (f *Files) keys() (keys []dayKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, days := range f.of {
		for key := range days {
			keys = append(keys, key)
		}
	}
	return keys
}

// pack returns the content of a file.
func (f *Files) pack(of fingerprint, d *columns) ([]byte, error) {
	plain := appendColumns(nil, d)
	b, err := binary.Append(nil, binary.LittleEndian, fileHead{fileMagic, f.users.check(), of, uint64(len(plain)), 0})
	if err != nil {
		return nil, err
	}
	n := len(b)
	z, _ := packers.Get().(*zstd.Encoder)
	defer packers.Put(z)
	b = z.EncodeAll(plain, b)
	binary.LittleEndian.PutUint64(b[n-8:], sumOf(b[:n], b[n:]))
	return b, nil
}

var packers = sync.Pool{New: func() any {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false)) // a file has its own checksum
	if err != nil {
		panic(err) // the options are constant
	}
	return z
}}

var unpackers = sync.Pool{New: func() any {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDayBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return z
}}

// unpack returns the columns in a file whose checksum is right.
func unpack(packed []byte, length uint64) (*columns, error) {
	z, _ := unpackers.Get().(*zstd.Decoder)
	defer unpackers.Put(z)
	b, err := z.DecodeAll(packed, make([]byte, 0, length))
	if err != nil {
		return nil, err
	}
	return readColumns(b)
}
