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

// EntityInfo describes an entity for documentation.
type EntityInfo struct {
	Name, Doc          string
	PK, SK             string
	PKWords            []string // allowed values of the variable that PK begins with; nil: any
	Indexes            []IndexInfo
	Attributes         []AttributeInfo // stored attributes, in the order of the fields
	Key                []AttributeInfo // variables of PK and SK
	Expires, Immutable bool
	MaxBytes           int // 0: not declared
	Growth             Growth
	Access             Access
	Allow              map[string]string // accepted findings of design checks, by name, each with the reason
	Source             string            // where it is defined, as file:line with the file relative to its package's import path
}

// IndexInfo describes an entity's keys on a secondary index.
type IndexInfo struct {
	Name        string
	PK, SK      string
	Conditional bool // some items are not in the index
}

// AttributeInfo describes an attribute: its name, its Go type, and whether it may be absent.
type AttributeInfo struct {
	Name, Type string
	Optional   bool
}

// PatternInfo describes an access pattern for documentation.
type PatternInfo struct {
	ID, Question                     string
	Operation                        string // Query, GetItem or PutItem; for an Operation also others
	Entity                           string
	Index                            string // empty for the table itself
	PK                               string
	PKWords                          []string // allowed values of the variable that PK begins with; nil: any
	Condition                        string   // on the sort key, such as `begins_with "SESSION#"`; for PutItem the condition of the write
	FanOut                           string   // variable of PK that enumerates the shards
	Descending, Consistent, Filtered bool
	Input                            []AttributeInfo
	Request                          Request // as returned by Explain, but unfiltered and with templates in place of values; empty for Operations
	Load                             Load
	Source                           string // where it is defined, as file:line with the file relative to its package's import path
}

// Entities describes the entities in the order in which they were passed to NewSchema.
func (s *Schema) Entities() []EntityInfo {
	infos := make([]EntityInfo, len(s.entities))
	for i, e := range s.entities {
		infos[i] = e.info()
	}
	return infos
}

// Patterns describes the access patterns in the order in which they were passed to NewSchema.
func (s *Schema) Patterns() []PatternInfo {
	infos := make([]PatternInfo, len(s.patterns))
	for i, p := range s.patterns {
		infos[i] = p.info()
	}
	return infos
}

// Indexes returns the names of the secondary indexes, sorted.
func (s *Schema) Indexes() []string { return s.indexNames() }

func (e *entity) info() EntityInfo {
	info := EntityInfo{
		Name: e.name, Doc: e.doc, PK: e.pk.src, SK: e.sk.src, PKWords: e.words, Expires: e.expires, Immutable: e.immutable,
		MaxBytes: e.maxBytes, Growth: e.growth, Access: e.access, Source: e.source, Allow: e.allow, Attributes: attributes(e.stored), Key: attributes(e.keyPlan.Fields),
	}
	for _, x := range e.indexes {
		info.Indexes = append(info.Indexes, IndexInfo{Name: x.name, PK: x.pk.src, SK: x.sk.src, Conditional: x.when != nil})
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
		Filtered: p.filter != nil, Request: p.sample(), Load: p.load, Source: p.source,
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

// condition returns the condition on the sort key, written with templates.
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

// sample returns the pattern's request with templates in place of values.
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

// caller returns where an exported function of this package was called, as file:line. The file is
// relative to the import path of its package, so that the result does not depend on where the
// program was built.
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
