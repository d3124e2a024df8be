package table

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table/internal/codec"
)

// DynamoDB's limits, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxPKBytes   = 2048
	maxSKBytes   = 1024
	maxItemBytes = 400 << 10
)

// Def declares how an entity is stored.
type Def[T any] struct {
	PK, SK  string     // key templates over the fields of the entity's key struct
	PKWords []string   // allowed values of the variable that PK begins with, if any; they distinguish this entity's partitions from others
	Indexes []Index[T] // keys of secondary indexes, which are computed from the item

	// Expires returns when the item expires; zero means never. It is written to the attribute ttl
	// and not read back. An entity that needs the time after reading has a field
	// `dynamodbav:"ttl,unixtime,omitempty"` of type time.Time instead.
	Expires      func(*T) time.Time
	ExpiresReads []string // attributes that Expires reads, so that a patch knows when to recompute it

	Immutable bool   // items are only created and deleted
	MaxBytes  int    // maximum encoded size, up to 400 KB; 0: no limit beyond the store's
	Doc       string // one sentence for documentation
	Growth    Growth // how the number of facts affects the entity, for documentation and cost estimates; optional
	Access    Access // which roles use the items, for IAM policies; optional

	// Example completes an item made up for documentation, in which names and times are already
	// set. Optional.
	Example func(*T)

	// Allow accepts findings of design checks, by the name of the finding, each with the reason.
	Allow map[string]string
}

// Index computes the keys of an item on one secondary index. The item is absent from the index (a
// sparse index) if a variable of a template is empty or When returns false.
type Index[T any] struct {
	Name      string // such as gsi1; the key attributes are then gsi1pk and gsi1sk
	PK, SK    string // templates over any fields of the entity
	When      func(*T) bool
	WhenReads []string // attributes that When reads, so that a patch knows when to recompute it
}

// An Entity is one type of item: T is the item and K its key, which T embeds. The fields of K are
// the variables of PK and SK; they are stored only in the keys and read back from them. The other
// fields of T are attributes under their `dynamodbav` names. An Entity is safe for concurrent use.
type Entity[T, K any] struct{ core *entity }

// entity does the work of an Entity. It knows T and K only by reflection: items, keys and inputs
// are passed as pointers to them. Generic code is compiled for each type, so the methods of Entity
// should do nothing but that.
type entity struct {
	name      string
	doc       string
	plan      *codec.Plan   // of T, key fields included
	stored    []codec.Field // of T, key fields excluded
	keyPlan   *codec.Plan   // of K
	keyField  []int         // of K in T
	pk, sk    *keyTemplate  // over K
	indexes   []entityIndex
	reads     []string              // attributes read by Expires
	expires   bool                  // items may expire: Expires is set or there is a ttl field
	expiry    func(v any) time.Time // Expires, or nil
	immutable bool
	maxBytes  int
	problems  []error
	err       error // problems, joined

	spare sync.Pool // empty maps for CreateMany to encode into

	// For documentation.
	example func(v any)
	allow   map[string]string
	growth  Growth
	access  Access
	words   []string // allowed first words of pk
	source  string   // where it is defined
}

// room returns how many attributes others may add to an encoded item: a fold adds its version and
// marks to derived items. Immutable items are never derived.
func (e *entity) room() int {
	if e.immutable {
		return 0
	}
	return 2
}

type entityIndex struct {
	name           string
	pkAttr, skAttr string
	pk, sk         *keyTemplate     // over T
	when           func(v any) bool // nil means always
	reads          []string
}

// in reports whether the item v may be in the index.
func (x *entityIndex) in(v any) bool { return x.when == nil || x.when(v) }

// Define declares an entity. It never fails: problems in the definition are reported by NewSchema
// and by every use of the entity.
func Define[T, K any](name string, d Def[T]) *Entity[T, K] {
	e := &entity{
		name: name, doc: d.Doc, reads: d.ExpiresReads, expires: d.Expires != nil,
		immutable: d.Immutable, maxBytes: d.MaxBytes, growth: d.Growth, access: d.Access, source: caller(), allow: d.Allow, words: d.PKWords,
	}
	if d.Expires != nil {
		e.expiry = func(v any) time.Time { return d.Expires(v.(*T)) }
	}
	if d.Example != nil {
		e.example = func(v any) { d.Example(v.(*T)) }
	}
	indexes := make([]indexDef, len(d.Indexes))
	for i, x := range d.Indexes {
		indexes[i] = indexDef{name: x.Name, pk: x.PK, sk: x.SK, reads: x.WhenReads}
		if x.When != nil {
			indexes[i].when = func(v any) bool { return x.When(v.(*T)) }
		}
	}
	e.define(reflect.TypeFor[T](), reflect.TypeFor[K](), d.PK, d.SK, indexes)
	return &Entity[T, K]{e}
}

// indexDef is an Index without its type parameters, for the non-generic core.
type indexDef struct {
	name, pk, sk string
	when         func(v any) bool
	reads        []string
}

// define completes an entity of the types t and k, and checks the definition.
func (e *entity) define(t, k reflect.Type, pk, sk string, indexes []indexDef) {
	defer e.seal()
	if t.Kind() != reflect.Struct || k.Kind() != reflect.Struct {
		e.fail(fmt.Errorf("%s and its key %s must be structs", t, k))
		return
	}
	if len(e.reads) > 0 && e.expiry == nil {
		e.fail(errors.New("ExpiresReads is set without Expires"))
	}
	e.compile(t, k)
	e.bindKeys(pk, sk)
	for _, x := range indexes {
		e.addIndex(x)
	}
	e.checkDefinition()
}

func (e *entity) fail(problems ...error) {
	for _, p := range problems {
		e.problems = append(e.problems, fmt.Errorf("entity %s: %w", e.name, p))
	}
}

func (e *entity) seal() {
	if len(e.problems) > 0 {
		e.err = fmt.Errorf("table: %w", errors.Join(e.problems...))
	}
}

// compile makes the plans of T and K and locates K in T.
func (e *entity) compile(t, k reflect.Type) {
	c := codec.NewCompiler()
	e.plan, e.keyPlan = c.Plan(t), c.Plan(k)
	e.fail(c.Problems...)
	keyField := embedded(t, k)
	if keyField == nil {
		e.fail(fmt.Errorf("%s does not embed its key struct %s", t, k))
		return
	}
	e.keyField = keyField
	for _, f := range e.plan.Fields {
		if len(f.Index) > len(keyField) && slices.Equal(f.Index[:len(keyField)], keyField) {
			continue
		}
		if e.keyPlan.Field(f.Name) != nil {
			e.fail(fmt.Errorf("field %q of %s hides the key's field of that name", f.Name, t))
		}
		e.stored = append(e.stored, f)
	}
}

// embedded returns the field index of the embedded struct k in t, or nil if it is not embedded.
func embedded(t, k reflect.Type) []int {
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.Anonymous || sf.Type.Kind() != reflect.Struct {
			continue
		}
		if sf.Type == k {
			return []int{i}
		}
		if deeper := embedded(sf.Type, k); deeper != nil {
			return append([]int{i}, deeper...)
		}
	}
	return nil
}

// bindKeys binds the key templates. Every field of the key must occur in them, because it is stored
// nowhere else.
func (e *entity) bindKeys(pk, sk string) {
	var problems []error
	e.pk, problems = bindTemplate("PK", pk, e.keyPlan, false)
	e.fail(problems...)
	if begins := strings.HasPrefix(pk, "{"); !begins && len(e.words) > 0 || slices.ContainsFunc(e.words, func(w string) bool { return w == "" || strings.ContainsAny(w, "#{}[]*?") }) {
		e.fail(fmt.Errorf("PKWords %q: PK %q has to begin with a variable, and a word has none of #{}[]*?", e.words, pk))
	}
	e.sk, problems = bindTemplate("SK", sk, e.keyPlan, true)
	e.fail(problems...)
	if e.pk == nil || e.sk == nil {
		return
	}
	used := append(e.pk.variables(), e.sk.variables()...)
	for _, name := range e.keyPlan.Names() {
		if !slices.Contains(used, name) {
			e.fail(fmt.Errorf("key field %q is in neither PK %q nor SK %q, so it would be lost: put it in one, or move it out of the key struct",
				name, pk, sk))
		}
	}
}

func (e *entity) addIndex(d indexDef) {
	x := entityIndex{name: d.name, pkAttr: d.name + "pk", skAttr: d.name + "sk", when: d.when, reads: d.reads}
	if d.name == "" {
		e.fail(errors.New("an index has no name"))
	}
	var problems []error
	x.pk, problems = bindTemplate("index "+d.name+" PK", d.pk, e.plan, false)
	e.fail(problems...)
	x.sk, problems = bindTemplate("index "+d.name+" SK", d.sk, e.plan, true)
	e.fail(problems...)
	e.fail(e.unknown("WhenReads of index "+d.name, d.reads)...)
	e.indexes = append(e.indexes, x)
}

// checkDefinition checks for names that this package reserves, and for limits.
func (e *entity) checkDefinition() {
	if e.name == "" || strings.Contains(e.name, "#") || e.name == Removed {
		e.fail(fmt.Errorf("%q is not a valid entity name", e.name))
	}
	reserved := []string{AttrPK, AttrSK, AttrEntity, AttrTTL, AttrFoldVersion, AttrFoldMarks}
	for _, x := range e.indexes {
		reserved = append(reserved, x.pkAttr, x.skAttr)
	}
	for _, f := range e.stored {
		if f.Name == AttrTTL && f.Type == timeType && f.Form == "unixtime" && f.OmitEmpty && !e.expires {
			e.expires = true
			continue
		}
		if slices.Contains(reserved, f.Name) {
			e.fail(fmt.Errorf("field %q: the name is reserved: %s", f.Name, strings.Join(reserved, ", ")))
		}
	}
	if e.maxBytes < 0 || e.maxBytes > maxItemBytes {
		e.fail(fmt.Errorf("MaxBytes %d is not between 0 and %d, the largest item", e.maxBytes, maxItemBytes))
	}
	e.fail(e.unknown("ExpiresReads", e.reads)...)
}

func (e *entity) unknown(what string, names []string) []error {
	var problems []error
	for _, name := range names {
		if e.plan.Field(name) == nil {
			problems = append(problems, fmt.Errorf("%s: unknown field %q; known: %s", what, name, strings.Join(e.plan.Names(), ", ")))
		}
	}
	return problems
}

func (e *entity) index(name string) *entityIndex {
	for i := range e.indexes {
		if e.indexes[i].name == name {
			return &e.indexes[i]
		}
	}
	return nil
}

// Name returns the entity's name, which each of its items stores in the attribute et.
func (e *Entity[T, K]) Name() string { return e.core.name }

// KeyOf returns the key of an item. It returns the zero key if the definition is invalid.
func (e *Entity[T, K]) KeyOf(v *T) K {
	if e.core.err != nil {
		var zero K
		return zero
	}
	return *(*K)(e.core.keyIn(v).Addr().UnsafePointer()) // Interface would panic if the type of the key struct is unexported
}

// keyIn returns the key of an item.
func (e *entity) keyIn(v any) reflect.Value { return codec.At(reflect.ValueOf(v).Elem(), e.keyField) }

// Key returns the encoded primary key: pk and sk. Errors: ErrKeyValue, ErrKeyEmpty, ErrKeyFormat,
// ErrTooLarge.
func (e *Entity[T, K]) Key(k K) (Item, error) { return e.core.key(&k) }

func (e *entity) key(k any) (Item, error) {
	if e.err != nil {
		return nil, e.err
	}
	it := make(Item, 2)
	enc := codec.NewEncoder(2, 0)
	return it, e.encodeKey(enc, reflect.ValueOf(k).Elem(), it)
}

// encodeKey encodes both keys. They share one allocation, because they have the same lifetime.
func (e *entity) encodeKey(enc *codec.Encoder, k reflect.Value, into Item) error {
	var buf [192]byte
	key, missing, err := e.pk.appendTo(buf[:0], k)
	pkLen := len(key)
	if err == nil && missing == "" {
		key, missing, err = e.sk.appendTo(key, k)
	}
	if err == nil && missing == "" && (pkLen > maxPKBytes || len(key)-pkLen > maxSKBytes) {
		err = fmt.Errorf("%w: pk and sk have %d and %d bytes; use at most %d and %d",
			ErrTooLarge, pkLen, len(key)-pkLen, maxPKBytes, maxSKBytes)
	}
	if err == nil && missing == "" && !e.mayBegin(key) {
		err = fmt.Errorf("%w: it begins with none of %s", ErrKeyFormat, strings.Join(e.words, ", "))
	}
	if err = e.keyError(missing, err); err != nil {
		return err
	}
	text := enc.Text(key)
	into[AttrPK], into[AttrSK] = enc.String(text[:pkLen]), enc.String(text[pkLen:])
	return nil
}

// mayBegin reports whether a partition key begins with one of PKWords.
func (e *entity) mayBegin(pk []byte) bool {
	if len(e.words) == 0 {
		return true
	}
	first, _, _ := strings.Cut(string(pk), "#")
	return slices.Contains(e.words, first)
}

func (e *entity) keyError(missing string, err error) error {
	if err == nil && missing != "" {
		err = fmt.Errorf("%w: %s", ErrKeyEmpty, missing)
	}
	if err != nil {
		return fmt.Errorf("%w (entity %s)", err, e.name)
	}
	return nil
}

// Encode returns the complete item: keys, index keys, et, ttl and attributes. Errors are those of
// Key, and ErrTooLarge for an item larger than MaxBytes.
func (e *Entity[T, K]) Encode(v *T) (Item, error) { return e.core.encode(v, nil) }

// encode is Encode into the empty map it, unless it is nil.
func (e *entity) encode(v any, it Item) (Item, error) {
	if e.err != nil {
		return nil, e.err
	}
	rv := reflect.ValueOf(v).Elem()
	stored := codec.Plan{Fields: e.stored}
	if it == nil {
		it = make(Item, stored.Count(rv)+2*len(e.indexes)+4+e.room())
	}
	enc := codec.NewEncoder(codec.Slab+2*len(e.indexes), 256)
	if err := e.encodeKey(enc, codec.At(rv, e.keyField), it); err != nil {
		return nil, err
	}
	it[AttrEntity] = enc.String(e.name)
	if err := stored.Encode(enc, rv, it); err != nil {
		return nil, fmt.Errorf("table: encode %s: %w", e.name, err)
	}
	if err := e.encodeDerived(enc, v, rv, it); err != nil {
		return nil, err
	}
	if e.maxBytes > 0 {
		if n := ItemSize(it); n > e.maxBytes {
			return nil, fmt.Errorf("%w: %s has %d bytes; its declared maximum is %d", ErrTooLarge, e.name, n, e.maxBytes)
		}
	}
	return it, nil
}

// encodeDerived adds what is computed from the attributes: index keys and ttl.
func (e *entity) encodeDerived(enc *codec.Encoder, v any, rv reflect.Value, it Item) error {
	for i := range e.indexes {
		x := &e.indexes[i]
		if !x.in(v) {
			continue
		}
		pk, sk, ok, err := x.keys(enc, rv)
		if err != nil {
			return fmt.Errorf("%w (entity %s)", err, e.name)
		}
		if ok {
			it[x.pkAttr], it[x.skAttr] = enc.String(pk), enc.String(sk)
		}
	}
	ttl, err := e.ttl(v)
	if ttl != "" {
		it[AttrTTL] = enc.Number(ttl)
	}
	return err
}

// keys computes the index keys of the item rv. ok is false if the item is not in the index.
func (x *entityIndex) keys(enc *codec.Encoder, rv reflect.Value) (pk, sk string, ok bool, err error) {
	var buf [192]byte
	text, missing, err := x.pk.appendTo(buf[:0], rv)
	if err != nil || missing != "" {
		return "", "", false, err
	}
	pk = enc.Text(text)
	text, missing, err = x.sk.appendTo(buf[:0], rv)
	if err != nil || missing != "" {
		return "", "", false, err
	}
	sk = enc.Text(text)
	if len(pk) > maxPKBytes || len(sk) > maxSKBytes {
		return "", "", false, fmt.Errorf("%w: keys of index %s have %d and %d bytes; use at most %d and %d",
			ErrTooLarge, x.name, len(pk), len(sk), maxPKBytes, maxSKBytes)
	}
	return pk, sk, true, nil
}

// ttl returns the value of the ttl attribute, or "" if the item does not expire.
func (e *entity) ttl(v any) (string, error) {
	if e.expiry == nil {
		return "", nil
	}
	at := e.expiry(v)
	if at.IsZero() {
		return "", nil
	}
	if at.Unix() <= 0 {
		return "", fmt.Errorf("table: %s expires at %v, before 1970, so it would never be deleted", e.name, at)
	}
	return strconv.FormatInt(at.Unix(), 10), nil
}

// Decode decodes an item. Errors: ErrWrongEntity if et names another entity; errors of conversion
// name the field.
func (e *Entity[T, K]) Decode(it Item) (T, error) {
	var v T
	err := e.core.decode(it, &v)
	return v, err
}

// DecodeInto is Decode into an existing value, which it overwrites completely.
func (e *Entity[T, K]) DecodeInto(it Item, v *T) error { return e.core.decode(it, v) }

func (e *entity) decode(it Item, v any) error {
	if e.err != nil {
		return e.err
	}
	if err := e.isOne(text(it, AttrEntity)); err != nil {
		return err
	}
	rv := reflect.ValueOf(v).Elem()
	rv.SetZero()
	if err := e.decodeKey(text(it, AttrPK), text(it, AttrSK), rv); err != nil {
		return err
	}
	if len(it) <= keyAttributes {
		return nil
	}
	stored := codec.Plan{Fields: e.stored}
	if err := stored.Decode(it, rv); err != nil {
		return fmt.Errorf("table: decode %s: %w", e.name, err)
	}
	return nil
}

// isOne rejects items whose et names another entity.
func (e *entity) isOne(et string) error {
	if et != e.name {
		return fmt.Errorf("%w: %q, not %q", ErrWrongEntity, et, e.name)
	}
	return nil
}

// decodeKey decodes the fields that are stored only in the keys.
func (e *entity) decodeKey(pk, sk string, rv reflect.Value) error {
	key := codec.At(rv, e.keyField)
	if err := e.pk.parse(pk, key); err != nil {
		return fmt.Errorf("table: decode %s: %w", e.name, err)
	}
	if err := e.sk.parse(sk, key); err != nil {
		return fmt.Errorf("table: decode %s: %w", e.name, err)
	}
	return nil
}

// keyAttributes counts pk, sk and et, which every item has. A fold's zero state has only these.
const keyAttributes = 3

// text returns the value of a string attribute, or "" if there is none.
func text(it Item, name string) string { return textOf(it[name]) }

// textOf returns the value of a string, or "" for other types.
func textOf(av types.AttributeValue) string {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
