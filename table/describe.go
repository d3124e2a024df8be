package table

import (
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table/internal/codec"
)

// EntityInfo describes an entity for documents.
type EntityInfo struct {
	Name, Doc  string
	PK, SK     string
	PKWords    []string // what the variable may be that PK begins with; nil: anything
	Indexes    []IndexInfo
	Attributes []AttributeInfo // stored ones, in the order of the fields
	Key        []AttributeInfo // variables of PK and SK
	Expires    bool
	Immutable  bool
	MaxBytes   int // 0: not declared
	Growth     Growth
	Allow      map[string]string // findings about it that are right here, each with the reason
	Source     string            // where it is defined: file:line, the file below its package's import path
}

// IndexInfo describes an entity's keys on a secondary index.
type IndexInfo struct {
	Name        string
	PK, SK      string
	Conditional bool // not all items are on it
}

// AttributeInfo describes an attribute: its name and Go type, and whether it may be left out.
type AttributeInfo struct {
	Name, Type string
	Optional   bool
}

// PatternInfo describes an access pattern for documents.
type PatternInfo struct {
	ID, Question string
	Operation    string // Query, GetItem or PutItem; of an Operation also another
	Entity       string
	Index        string // empty: the table
	PK           string
	PKWords      []string // what the variable may be that PK begins with; nil: anything
	Condition    string   // on the sort key, such as `begins_with "SESSION#"`; for PutItem the condition of the write
	FanOut       string   // variable of PK that every shard is asked for
	Descending   bool
	Consistent   bool
	Filtered     bool
	Input        []AttributeInfo
	Request      Request // of other patterns than Operations, as Explain makes it, without a filter, with templates in the place of values
	Load         Load
	Source       string // where it is defined: file:line, the file below its package's import path
}

// Entities describes the entities, in the order in which they were given.
func (s *Schema) Entities() []EntityInfo {
	infos := make([]EntityInfo, len(s.entities))
	for i, e := range s.entities {
		infos[i] = e.info()
	}
	return infos
}

// Patterns describes the access patterns, in the order in which they were given.
func (s *Schema) Patterns() []PatternInfo {
	infos := make([]PatternInfo, len(s.patterns))
	for i, p := range s.patterns {
		infos[i] = p.info()
	}
	return infos
}

// Indexes are the names of the secondary indexes, sorted.
func (s *Schema) Indexes() []string { return s.indexNames() }

func (e *entity) info() EntityInfo {
	info := EntityInfo{
		Name: e.name, Doc: e.doc, PK: e.pk.src, SK: e.sk.src, PKWords: e.words, Expires: e.expires, Immutable: e.immutable,
		MaxBytes: e.maxBytes, Growth: e.growth, Source: e.source, Allow: e.allow, Attributes: attributes(e.stored), Key: attributes(e.keyPlan.Fields),
	}
	for _, x := range e.indexes {
		info.Indexes = append(info.Indexes, IndexInfo{Name: x.name, PK: x.pk.src, SK: x.sk.src, Conditional: x.conditional})
	}
	return info
}

func attributes(fields []codec.Field) []AttributeInfo {
	infos := make([]AttributeInfo, len(fields))
	for i, f := range fields {
		infos[i] = AttributeInfo{Name: f.Name, Type: f.Type.String(), Optional: f.OmitEmpty}
	}
	return infos
}

func (p *pattern) info() PatternInfo {
	info := PatternInfo{
		ID: p.id, Question: p.question, Operation: p.operation, Entity: p.entity.name, Index: p.index,
		PK: p.ownPK.src, Condition: p.condition(), FanOut: p.fanOut, Descending: p.desc, Consistent: p.consistent,
		Filtered: p.filtered, Request: p.sample(), Load: p.load, Source: p.source,
	}
	if p.pk != nil {
		info.PK = p.pk.src
	}
	if p.index == "" {
		info.PKWords = p.entity.words
	}
	if p.in != nil {
		info.Input = attributes(p.in.Fields)
	}
	return info
}

// condition is the condition on the sort key in words of the templates.
func (p *pattern) condition() string {
	source := func(k *keyTemplate) string {
		if k == nil {
			return "…"
		}
		return k.src
	}
	switch {
	case p.documented():
		return p.told
	case p.operation == "PutItem":
		return *p.entity.absence()
	case p.exact:
		return p.skAttr + " = " + p.prefix.src
	case p.prefix != nil && p.prefix.src == "":
		return ""
	case p.prefix != nil:
		return p.skAttr + " begins with " + p.prefix.src
	}
	return p.skAttr + " in [" + source(p.from) + ", " + source(p.to) + ")"
}

// sample is the pattern's request with templates in the place of values.
func (p *pattern) sample() Request {
	str := func(k *keyTemplate) types.AttributeValue { return &types.AttributeValueMemberS{Value: k.src} }
	switch {
	case p.documented():
		return Request{}
	case p.operation == "PutItem":
		return Request{Put: &dynamodb.PutItemInput{
			Item:                Item{AttrPK: str(p.ownPK), AttrSK: str(p.ownSK), AttrEntity: &types.AttributeValueMemberS{Value: p.entity.name}},
			ConditionExpression: p.entity.absence(),
		}}
	case p.operation == "GetItem":
		return Request{Get: &dynamodb.GetItemInput{Key: Item{AttrPK: str(p.pk), AttrSK: str(p.prefix)}, ConsistentRead: &consistent}}
	}
	return Request{Query: p.request(ask{pk: p.pk.src, span: p.sampleSpan()}, 0)}
}

func (p *pattern) sampleSpan() span {
	switch {
	case p.exact:
		return span{exact: p.prefix.src}
	case p.prefix != nil:
		return span{prefix: p.prefix.src, lo: p.prefix.src, hi: successor(p.prefix.src)}
	}
	s := span{lo: p.ownSK.head(), hi: successor(p.ownSK.head())}
	if p.from != nil {
		s.lo = p.from.src
	}
	if p.to != nil {
		s.hi = p.to.src
	}
	return s
}

// caller is where an exported function of the kit was called: file:line, the file below its package's import path, so that
// it is the same wherever the program was built.
func caller() string {
	pc, _, _, ok := runtime.Caller(2)
	if !ok {
		return ""
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	dir, name := path.Split(frame.Function)
	pkg, _, _ := strings.Cut(name, ".")
	return dir + pkg + "/" + path.Base(filepath.ToSlash(frame.File)) + ":" + strconv.Itoa(frame.Line)
}
